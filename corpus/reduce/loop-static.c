// expect: error
// Each round counts in a static variable that only this thread uses.
#include <assert.h>
#include "wait.h"

static int rounds(void)
{
    static int n;

    return n < 2 ? ++n : n;
}

static void *waits(void *p)
{
    int r = 0;

    while (!atomic_load(&x))
        r = rounds();
    assert(r < 2);
    return p;
}
