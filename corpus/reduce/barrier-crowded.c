// expect: error
// Four threads use a barrier for two: who meets whom depends on the order.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_barrier_t barrier;
static atomic_int cells[4];

static void *run(void *p)
{
    long me = (long)p;

    atomic_store(&cells[me], 1);
    pthread_barrier_wait(&barrier);
    assert(atomic_load(&cells[me ^ 1]));
    return NULL;
}

int main(void)
{
    pthread_t threads[4];

    pthread_barrier_init(&barrier, NULL, 2);
    for (long i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
