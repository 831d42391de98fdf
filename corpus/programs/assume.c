// expect: tso=safe pso=safe
// What is assumed away is no error, and whoever waits for the thread that assumed it is in no deadlock.
#include <assert.h>
#include <membar.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int turn;
static void *run(void *p)
{
    atomic_store(&turn, 1);
    return p;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    int n = membar_choose(4);
    membar_assume(n != 2);
    int seen = atomic_load(&turn);
    membar_assume(seen == 1);
    assert(n != 2 && atomic_load(&turn) == 1);
    pthread_join(t, 0);
}
