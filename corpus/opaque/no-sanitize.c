// expect: tso=undecided pso=undecided
// says: `quietly` is not instrumented, and touches `x`
#include <pthread.h>
static int x;
__attribute__((no_sanitize_thread, noinline)) static void quietly(int *p) { *p = 1; }
static void *other(void *p) { quietly(&x); return p; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    (void)*(volatile int *)&x;
    pthread_join(t, 0);
}
