// expect: error
// Two rounds together change nothing, one does.
#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include "wait.h"

static void *waits(void *p)
{
    int odd = 0;

    while (!atomic_load(&x))
        odd = !odd;
    assert(!odd);
    return p;
}
