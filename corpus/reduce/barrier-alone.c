// expect: error
// One thread does not come to the second meeting: the other waits forever.
#include <pthread.h>

static pthread_barrier_t barrier;

static void *run(void *p)
{
    pthread_barrier_wait(&barrier);
    if (p != NULL)
        pthread_barrier_wait(&barrier);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];

    pthread_barrier_init(&barrier, NULL, 2);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
