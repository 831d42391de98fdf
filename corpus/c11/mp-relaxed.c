// expect: unsafe
// The flag is seen, the data is not.
#include <pthread.h>
#include <stdatomic.h>
static atomic_int data, ready;
static void *run(void *arg)
{
    (void)arg;
    atomic_store_explicit(&data, 42, memory_order_relaxed);
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    return 0;
}
int main(void)
{
    pthread_t a;
    pthread_create(&a, 0, run, 0);
    int seen = atomic_load_explicit(&ready, memory_order_relaxed);
    int value = atomic_load_explicit(&data, memory_order_relaxed);
    pthread_join(a, 0);
    return seen && value == 7;
}
