// expect: tso=safe pso=safe
// main leaves with pthread_exit: the other thread goes on, and the process ends with it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static void *run(void *p)
{
    atomic_store(&x, 1);
    assert(atomic_load(&x) == 1);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    pthread_detach(t);
    pthread_exit(0);
}
