// expect: error: assertion `!reached`
// An assumption that fails in one thread does not undo what others have done.
#include <assert.h>
#include <pthread.h>
void __VERIFIER_assume(int);
static int go, reached = 1;
static void *run(void *p)
{
    __VERIFIER_assume(go);
    return p;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    assert(!reached);
    pthread_join(t, 0);
}
