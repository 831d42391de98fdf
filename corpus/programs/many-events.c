// expect: tso=undecided pso=undecided
// driver: --strategy random:3 --steps 1000000
// 10,000 steps a thread.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static void *run(void *p)
{
    for (int i = 0; i < 10000; i++)
        atomic_fetch_add(&x, 1);
    return p;
}
int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(x == 20000);
    return 0;
}
