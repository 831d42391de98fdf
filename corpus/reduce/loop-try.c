// expect: error
// A thread that gives up after two tries.
#include <assert.h>
#include "threads.h"

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
    run(2, (function *[]){ waits, writes });
    return 0;
}
