/* A compare-and-swap that may fail: CAS.litmus as a C program. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x, w, y, z;

static void *p0(void *arg)
{
    (void)arg;
    int r0 = 0;
    atomic_store_explicit(&w, 1, memory_order_relaxed);
    int r1 = atomic_compare_exchange_strong_explicit(&x, &r0, 1, memory_order_relaxed, memory_order_relaxed);
    if (r1)
        atomic_store_explicit(&z, 1, memory_order_relaxed);
    else
        r0 = atomic_load_explicit(&y, memory_order_relaxed);
    return NULL;
}

static void *p1(void *arg)
{
    (void)arg;
    int r0 = 0;
    atomic_store_explicit(&y, 1, memory_order_relaxed);
    int r1 = atomic_compare_exchange_strong_explicit(&x, &r0, 2, memory_order_relaxed, memory_order_relaxed);
    if (r1)
        atomic_store_explicit(&z, 2, memory_order_relaxed);
    else
        r0 = atomic_load_explicit(&w, memory_order_relaxed);
    return NULL;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, p0, NULL);
    pthread_create(&t[1], NULL, p1, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
