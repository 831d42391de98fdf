// expect: error
// A thread that gives up after two tries.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int x;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *waits(void *p)
{
    int tries = 0;

    while (tries < 2 && pthread_mutex_trylock(&m) != 0)
        tries++;
    assert(tries < 2);
    pthread_mutex_unlock(&m);
    return p;
}

static void *writes(void *p)
{
    pthread_mutex_lock(&m); atomic_store(&x, 1); pthread_mutex_unlock(&m);
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
