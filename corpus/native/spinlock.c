/* A lock that is given back by a plain store: spinlock.litmus as a C program. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int l, c;

static void *p0(void *arg)
{
    (void)arg;
    int r0 = 0;
    while (!atomic_compare_exchange_strong_explicit(&l, &r0, 1, memory_order_relaxed, memory_order_relaxed))
        r0 = 0;
    int r1 = atomic_load_explicit(&c, memory_order_relaxed);
    atomic_store_explicit(&c, r1 + 1, memory_order_relaxed);
    atomic_store_explicit(&l, 0, memory_order_relaxed);
    return NULL;
}

static void *p1(void *arg)
{
    (void)arg;
    int r0 = 0;
    while (!atomic_compare_exchange_strong_explicit(&l, &r0, 1, memory_order_relaxed, memory_order_relaxed))
        r0 = 0;
    int r1 = atomic_load_explicit(&c, memory_order_relaxed);
    atomic_store_explicit(&c, r1 + 1, memory_order_relaxed);
    atomic_store_explicit(&l, 0, memory_order_relaxed);
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
