// expect: tso=safe pso=safe
// driver: --nondet 0..2
// Sections exclude each other: no update is lost.
#include <assert.h>
#include <pthread.h>
int __VERIFIER_nondet_int(void);
void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);
static int n;
static int more[2];
static void *run(void *p)
{
    int *own = p;
    *own = __VERIFIER_nondet_int();
    __VERIFIER_atomic_begin();
    int old = n;
    n = old + *own;
    __VERIFIER_atomic_end();
    return p;
}

int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, &more[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(n == more[0] + more[1] && n <= 4);
}
