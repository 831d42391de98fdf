// expect: error
// A round sets a flag that is never reset.
#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include "wait.h"

static void *waits(void *p)
{
    int waited = 0;

    while (!atomic_load(&x))
        waited = 1;
    assert(!waited);
    return p;
}
