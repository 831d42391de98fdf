// expect: error
// A round writes a volatile variable.
#include <assert.h>
#include <stddef.h>
#include "wait.h"

static void *waits(void *p)
{
    volatile int seen = 0;

    while (!atomic_load(&x))
        seen = 1;
    assert(!seen);
    return p;
}
