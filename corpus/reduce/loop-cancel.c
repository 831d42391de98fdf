// expect: error
// A round says that the thread must not be cancelled.
#include <assert.h>
#include <stddef.h>
#include "wait.h"

static void *waits(void *p)
{
    int before;

    while (!atomic_load(&x))
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
    assert(before == PTHREAD_CANCEL_ENABLE);
    return p;
}
