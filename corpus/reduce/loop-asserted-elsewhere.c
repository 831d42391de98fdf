// expect: error
// What a round did is asserted in another function.
#include <assert.h>
#include <stddef.h>
#include "wait.h"

static int count;

__attribute__((noinline)) static void check(void)
{
    assert(count == 0);
}

static void *waits(void *p)
{
    while (!atomic_load(&x))
        count = 1;
    check();
    return p;
}
