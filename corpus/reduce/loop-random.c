// expect: error
// Each round takes a random number: later ones are others.
#include <assert.h>
#include <stdlib.h>
#include "wait.h"

static void *waits(void *p)
{
    int r = 0;

    for (int i = 0; i < 3 && !atomic_load(&x); i++)
        r = rand();
    assert(r == 0);
    return p;
}
