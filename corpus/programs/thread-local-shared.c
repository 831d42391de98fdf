// expect: tso=unsafe pso=unsafe
// Each thread has its own variable, and looks at the other's through a pointer: store buffering.
#include <pthread.h>
#include <stdatomic.h>
static _Thread_local atomic_int mine;
static _Atomic(atomic_int *) where[2];
static int r[2];
static void *run(void *p)
{
    long i = (long)p;
    atomic_store(&where[i], &mine);
    atomic_store_explicit(&mine, 1, memory_order_relaxed);
    atomic_int *other = atomic_load_explicit(&where[1 - i], memory_order_relaxed);
    if (other)
        r[i] = atomic_load_explicit(other, memory_order_relaxed);
    while (!atomic_load(&where[1 - i]))
        ;
    return p;
}
int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
