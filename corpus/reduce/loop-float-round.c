// expect: error
// A round changes how numbers are rounded.
#include <assert.h>
#include <fenv.h>
#include <stddef.h>
#include "wait.h"

static void *waits(void *p)
{
    while (!atomic_load(&x))
        fesetround(FE_UPWARD);
    assert(fegetround() == FE_TONEAREST);
    return p;
}
