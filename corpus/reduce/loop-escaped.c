// expect: error
// A round writes a variable on the stack through a pointer that has escaped.
#include <assert.h>
#include <stddef.h>
#include "wait.h"

static int *volatile where;

static void *waits(void *p)
{
    int seen = 0;

    where = &seen;
    while (!atomic_load(&x))
        *where = 1;
    assert(!seen);
    return p;
}
