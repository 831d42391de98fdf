// expect: error
// A round sets one bit of a word on the stack.
#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include "wait.h"

static void *waits(void *p)
{
    volatile unsigned char flags[16] = { 0 };

    while (!atomic_load(&x))
        flags[5] |= 4;
    assert(flags[5] == 0);
    return p;
}
