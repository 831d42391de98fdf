// expect: tso=safe pso=safe
// The process ends while a thread runs, or waits, or spins.
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *run(void *p)
{
    atomic_store(&x, 1);
    while (atomic_load(&x) != 2)
        ;
    pthread_mutex_lock(&m);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_mutex_lock(&m);
    pthread_create(&t, 0, run, 0);
    return 0;
}
