// expect: error
// The thread that is told may be the one that does not look.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_barrier_t barrier;
static atomic_int told;

static void *looks(void *p)
{
    for (int round = 0; round < 2; round++) {
        pthread_barrier_wait(&barrier);
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            atomic_fetch_add(&told, 1);
    }
    return p;
}

static void *ignores(void *p)
{
    for (int round = 0; round < 4; round++)
        pthread_barrier_wait(&barrier);
    return p;
}

int main(void)
{
    pthread_t a, b;

    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&a, NULL, looks, NULL);
    pthread_create(&b, NULL, ignores, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(told != 1);
    return 0;
}
