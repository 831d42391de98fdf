// expect: error
// A round sets errno itself.
#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include "wait.h"

static void *waits(void *p)
{
    errno = 0;
    while (!atomic_load(&x))
        errno = ERANGE;
    assert(errno == 0);
    return p;
}
