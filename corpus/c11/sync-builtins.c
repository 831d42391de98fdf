// expect: safe
// The old builtins are full barriers, but for those of a lock.
#include <pthread.h>
static int lock, data;
static void *run(void *arg)
{
    (void)arg;
    while (__sync_lock_test_and_set(&lock, 1))
        ;
    data++;
    __sync_lock_release(&lock);
    return 0;
}
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, run, 0);
    pthread_create(&b, 0, run, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return data != 2;
}
