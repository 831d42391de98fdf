// expect: error
// A round changes the environment.
#include <assert.h>
#include <stdlib.h>
#include "wait.h"

static void *waits(void *p)
{
    for (int i = 0; i < 2 && !atomic_load(&x); i++)
        setenv("MEMBAR_ROUND", "1", 1);
    assert(!getenv("MEMBAR_ROUND"));
    return p;
}
