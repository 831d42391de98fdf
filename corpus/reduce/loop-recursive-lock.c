// expect: error
// Each round locks a recursive mutex once more.
#include <assert.h>
#include "threads.h"

static atomic_int x;
static pthread_mutex_t m;

static void *waits(void *p)
{
    pthread_mutex_lock(&m);
    for (int i = 0; i < 2 && !atomic_load(&x); i++)
        pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    assert(pthread_mutex_unlock(&m) != 0);
    return p;
}

static void *writes(void *p)
{
    atomic_store(&x, 1);
    return p;
}

int main(void)
{
    pthread_mutexattr_t recursive;

    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&m, &recursive);
    run(2, (function *[]){ waits, writes });
    return 0;
}
