// expect: safe
// One thread in each round is told that it was the last.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_barrier_t barrier;
static atomic_int told;

static void *run(void *p)
{
    for (int round = 0; round < 3; round++)
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            atomic_fetch_add(&told, 1);
    return p;
}

int main(void)
{
    pthread_t threads[2];

    pthread_barrier_init(&barrier, NULL, 2);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(told == 3);
    return 0;
}
