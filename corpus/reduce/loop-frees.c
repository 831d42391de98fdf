// expect: error
// A backoff gives something up.
#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include "wait.h"

static void *waits(void *p)
{
    int *spare = malloc(sizeof *spare);

    while (!atomic_load(&x)) {
        free(spare);
        spare = NULL;
    }
    assert(spare != NULL);
    free(spare);
    return p;
}
