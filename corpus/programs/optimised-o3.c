// expect: tso=unsafe pso=unsafe
// flags: -O3 -fno-inline-functions
#include <pthread.h>
#include <stdatomic.h>
static atomic_int a[2];
static int r[2];
static void *run(void *p)
{
    long me = (long)p;
    atomic_store_explicit(&a[me], 1, memory_order_release);
    r[me] = atomic_load_explicit(&a[1 - me], memory_order_acquire);
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
