// expect: error
// A round changes how the processor rounds numbers that are too small.
#include <assert.h>
#include <xmmintrin.h>
#include "wait.h"

static void *waits(void *p)
{
    while (!atomic_load(&x))
        _mm_setcsr(_mm_getcsr() | 0x8000);
    assert(!(_mm_getcsr() & 0x8000));
    return p;
}
