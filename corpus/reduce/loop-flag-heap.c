// expect: error
// The flag is on the heap.
#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include "wait.h"

static void *waits(void *p)
{
    int *waited = calloc(1, sizeof *waited);

    while (!atomic_load(&x))
        *waited = 1;
    assert(!*waited);
    free(waited);
    return p;
}
