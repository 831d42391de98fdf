// expect: error
// A round takes a recursive mutex once more.
#include <assert.h>
#include "threads.h"

static atomic_int x;
static pthread_mutex_t m;

static void *waits(void *p)
{
    int depth = 0;

    pthread_mutex_lock(&m);
    for (int i = 0; i < 2 && !atomic_load(&x); i++)
        pthread_mutex_lock(&m);
    while (pthread_mutex_unlock(&m) == 0)
        depth++;
    assert(depth != 2);
    return p;
}

static void *writes(void *p)
{
    atomic_store(&x, 1);
    return p;
}

int main(void)
{
    pthread_mutexattr_t kind;

    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&m, &kind);
    run(2, (function *[]){ waits, writes });
    return 0;
}
