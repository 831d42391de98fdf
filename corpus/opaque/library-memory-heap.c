// expect: tso=unsafe pso=unsafe
// library: memory.c
#include <pthread.h>
#include <stdatomic.h>
void *from_heap(void);
static atomic_int *m;
static void *other(void *p)
{
    atomic_store_explicit(&m[0], 1, memory_order_release);
    (void)atomic_load_explicit(&m[32], memory_order_acquire);
    return p;
}
int main(void)
{
    pthread_t t;
    m = from_heap();
    pthread_create(&t, 0, other, 0);
    atomic_store_explicit(&m[32], 1, memory_order_release);
    (void)atomic_load_explicit(&m[0], memory_order_acquire);
    pthread_join(t, 0);
}
