// expect: tso=safe pso=safe c11=safe
// driver: --assume spurious-failures --cc gcc
// One that is repeated may fail as often as it likes. `expected` is the value that was found, also then.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int count;
static void *run(void *p)
{
    int seen = atomic_load(&count);
    while (!atomic_compare_exchange_weak(&count, &seen, seen + 1))
        assert(seen >= 0 && seen <= 2);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    run(0);
    pthread_join(t, 0);
    assert(count == 2);
    return 0;
}
