// expect: tso=safe pso=safe
// A fence comes after all parts of a store that the machine makes in several.
#include <pthread.h>
#include <stdatomic.h>
static volatile __int128 x, y, r1, r2;
static void *left(void *p)
{
    x = 1;
    atomic_thread_fence(memory_order_seq_cst);
    r1 = y;
    return p;
}
static void *right(void *p)
{
    y = 1;
    __asm__ volatile("mfence" ::: "memory");
    r2 = x;
    return p;
}
int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, left, 0);
    pthread_create(&u, 0, right, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
