// expect: error: assertion `0 && "reached"`
// An assumption that fails in one thread does not undo what others have done.
#include <assert.h>
#include <pthread.h>
void __VERIFIER_assume(int);
static int go;
static void *run(void *p)
{
    __VERIFIER_assume(go);
    return p;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    assert(0 && "reached");
    pthread_join(t, 0);
}
