// expect: error: deadlock
// Two readers that both want to write.
#include <pthread.h>
static pthread_rwlock_t l;
static void *run(void *p)
{
    pthread_rwlock_rdlock(&l);
    pthread_rwlock_wrlock(&l);
    pthread_rwlock_unlock(&l);
    return p;
}
int main(void)
{
    pthread_t t[2];
    pthread_rwlock_init(&l, 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
