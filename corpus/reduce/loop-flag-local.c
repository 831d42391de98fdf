// expect: error
// The flag is a thread-local variable.
#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include "wait.h"

static _Thread_local int waited;

static void *waits(void *p)
{
    while (!atomic_load(&x))
        waited = 1;
    assert(!waited);
    return p;
}
