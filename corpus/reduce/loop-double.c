// expect: error
// What a round did is in a floating-point register.
#include <assert.h>
#include <stddef.h>
#include "wait.h"

static __attribute__((noinline)) int look(void)
{
    return atomic_load(&x);
}

static void *waits(void *p)
{
    double d = 1;

    while (!look())
        d = 2;
    assert(d == 1);
    return p;
}
