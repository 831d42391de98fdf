// expect: tso=safe pso=safe
// The assertion fails only if a section of another thread is interrupted.
#include <assert.h>
#include <pthread.h>
void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);
static _Atomic int x, y;
static void *run(void *p)
{
    __VERIFIER_atomic_begin();
    x = 1;
    y = 1;
    __VERIFIER_atomic_end();
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    int a = x, b = y;
    assert(!a || b);
    pthread_join(t, 0);
    return 0;
}
