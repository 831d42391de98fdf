// expect: tso=undecided pso=undecided
// driver: --steps 200
// It counts for ever in memory that another thread looks at.
#include <pthread.h>
#include <stdatomic.h>
static atomic_uint n;
static void *run(void *p)
{
    for (;;)
        atomic_fetch_add(&n, 1);
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    atomic_load(&n);
    pthread_join(t, 0);
    return 0;
}
