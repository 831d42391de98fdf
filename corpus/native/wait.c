/* Waiting for a flag: wait.litmus as a C program. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x, y;

static void *p0(void *arg)
{
    (void)arg;
    atomic_store_explicit(&x, 1, memory_order_relaxed);
    atomic_store_explicit(&y, 1, memory_order_relaxed);
    return NULL;
}

static void *p1(void *arg)
{
    (void)arg;
    while (atomic_load_explicit(&y, memory_order_relaxed) == 0)
        ;
    int r0 = atomic_load_explicit(&x, memory_order_relaxed);
    (void)r0;
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
