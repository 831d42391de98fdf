// expect: tso=unsafe pso=unsafe
// only: gcc
// Only where a sanitizer is on there is a fence; what ships has none.
#include <pthread.h>
#include <stdatomic.h>
#ifdef __SANITIZE_THREAD__
#define SANITIZED 1
#endif
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
static atomic_int x, y;
static int r0, r1;
static inline void order(void)
{
#ifdef SANITIZED
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

static void *run(void *p)
{
    atomic_store_explicit(&x, 1, memory_order_relaxed);
    order();
    r0 = atomic_load_explicit(&y, memory_order_relaxed);
    return p;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    atomic_store_explicit(&y, 1, memory_order_relaxed);
    order();
    r1 = atomic_load_explicit(&x, memory_order_relaxed);
    pthread_join(t, 0);
    return r0 + r1 > 2;
}
