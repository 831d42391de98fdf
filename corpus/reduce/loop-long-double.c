// expect: error
// What a round did is in a register of the x87.
#include <assert.h>
#include <stddef.h>
#include "wait.h"

static void *waits(void *p)
{
    long double d = 1;

    while (!atomic_load(&x))
        d = 2;
    assert(d == 1);
    return p;
}
