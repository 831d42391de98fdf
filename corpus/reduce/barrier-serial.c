// expect: error
// Which thread is told that it was the last is nobody's to predict.
#include <assert.h>
#include <pthread.h>

static pthread_barrier_t barrier;

static void *run(void *p)
{
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
        assert(p == NULL);
    return NULL;
}

int main(void)
{
    pthread_t threads[3];

    pthread_barrier_init(&barrier, NULL, 3);
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, run, (void *)(i / 2));
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
