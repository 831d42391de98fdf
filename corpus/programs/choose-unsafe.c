// expect: tso=unsafe pso=unsafe
// The fence is there for one outcome only.
#include <membar.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y;
static int r0, r1;
static void *run(void *p)
{
    atomic_store_explicit(&x, 1, memory_order_relaxed);
    if (membar_choose(2))
        atomic_thread_fence(memory_order_seq_cst);
    r0 = atomic_load_explicit(&y, memory_order_relaxed);
    return p;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    atomic_store(&y, 1);
    r1 = atomic_load(&x);
    pthread_join(t, 0);
    return r0 + r1 > 2;
}
