// expect: tso=unsafe pso=unsafe
// archive: framework.c
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y;
static void *other(void *p)
{
    atomic_store_explicit(&x, 1, memory_order_release);
    (void)atomic_load(&y);
    return p;
}
int test(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    atomic_store_explicit(&y, 1, memory_order_release);
    (void)atomic_load(&x);
    pthread_join(t, 0);
    return 0;
}
