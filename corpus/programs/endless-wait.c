// expect: error: deadlock
// Nobody ever sets it.
#include <pthread.h>
#include <stdatomic.h>
static atomic_int flag;
static void *run(void *p)
{
    while (!atomic_load(&flag))
        ;
    return p;
}
int main(int argc, char **argv)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    atomic_store(&flag, argc > 5);
    pthread_join(t, 0);
    return 0;
}
