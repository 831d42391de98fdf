// expect: error
// A round is a jump out of setjmp.
#include <assert.h>
#include <setjmp.h>
#include <stddef.h>
#include "wait.h"

static void *waits(void *p)
{
    jmp_buf again;
    volatile int jumped = 0;

    if (setjmp(again))
        jumped = 1;
    if (!atomic_load(&x))
        longjmp(again, 1);
    assert(!jumped);
    return p;
}
