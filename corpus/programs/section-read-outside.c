// expect: tso=safe pso=safe
// Both are in sections, or of a variable that sections do not use.
#include <assert.h>
#include <pthread.h>
void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);
static _Atomic int x, y, z;
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
    __VERIFIER_atomic_begin();
    int a = x, b = y;
    __VERIFIER_atomic_end();
    z = a;
    assert(!a || b);
    pthread_join(t, 0);
    return 0;
}
