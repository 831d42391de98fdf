// expect: error
// A round tries to take a mutex, and keeps it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *waits(void *p)
{
    while (!atomic_load(&x))
        pthread_mutex_trylock(&mutex);
    assert(pthread_mutex_trylock(&mutex) == 0);
    return p;
}

static void *writes(void *p)
{
    atomic_store(&x, 1);
    return p;
}

int main(void)
{
    pthread_t a, b;

    pthread_create(&a, NULL, waits, NULL);
    pthread_create(&b, NULL, writes, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
