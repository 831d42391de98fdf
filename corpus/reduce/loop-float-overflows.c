// expect: error
// A round raises a floating-point exception, in the x87.
#include <assert.h>
#include <fenv.h>
#include <stddef.h>
#include "wait.h"

static void *waits(void *p)
{
    while (!atomic_load(&x))
        feraiseexcept(FE_OVERFLOW);
    assert(!fetestexcept(FE_OVERFLOW));
    return p;
}
