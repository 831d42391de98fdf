// expect: error
// A bounded wait counts its rounds, and what it counted matters.
#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include "wait.h"

static void *waits(void *p)
{
    int rounds = 0;

    while (rounds < 3 && !atomic_load(&x))
        rounds++;
    assert(rounds != 2);
    return p;
}
