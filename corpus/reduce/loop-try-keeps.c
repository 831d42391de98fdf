// expect: error
// A round tries to take a mutex, and keeps it.
#include <assert.h>
#include <stddef.h>
#include "wait.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *waits(void *p)
{
    while (!atomic_load(&x))
        pthread_mutex_trylock(&mutex);
    assert(pthread_mutex_trylock(&mutex) == 0);
    return p;
}
