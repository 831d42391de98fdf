// expect: tso=unsafe pso=unsafe
// Functions that sanitizers leave alone are instrumented all the same. Store buffering between `x` and a local.
#include <pthread.h>
static volatile int x;
static int seen[2];
__attribute__((no_sanitize_thread, noinline)) static void set(volatile int *p) { *p = 1; }
__attribute__((no_sanitize("thread"), noinline)) static int get(volatile int *p) { return *p; }
static void *other(void *p)
{
    set(p);
    seen[0] = get(&x);
    return p;
}
__attribute__((__no_sanitize_thread__)) int main(void)
{
    volatile int local = 0;
    pthread_t t;
    pthread_create(&t, 0, other, (void *)&local);
    x = 1;
    seen[1] = local;
    pthread_join(t, 0);
}
