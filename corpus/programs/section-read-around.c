// expect: error: assertion
// A read before a section and one after it. Other executions interrupt the section, and errors are not told apart by that.
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
    assert(!b || a);
    pthread_join(t, 0);
    return 0;
}
