// expect: error
// A round wakes another thread up.
#include <assert.h>
#include "threads.h"

static atomic_int x;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int woken;

static void *waits(void *p)
{
    while (!atomic_load(&x))
        pthread_cond_signal(&c);
    return p;
}

static void *writes(void *p)
{
    pthread_mutex_lock(&m);
    pthread_cond_wait(&c, &m);
    woken = 1;
    pthread_mutex_unlock(&m);
    assert(!woken);
    atomic_store(&x, 1);
    return p;
}

int main(void)
{
    run(2, (function *[]){ waits, writes });
    return 0;
}
