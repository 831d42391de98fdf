// expect: error
// A wait written with goto, that remembers the way it came.
#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include "wait.h"

static void *waits(void *p)
{
    int way = 0;

    again:
    if (atomic_load(&x) == 1)
        goto out;
    way |= 1;
    if (atomic_load(&x) == 1)
        goto out;
    way |= 2;
    goto again;
    out:
    assert(way != 3);
    return p;
}
