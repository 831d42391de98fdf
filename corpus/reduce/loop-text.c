// expect: error
// A round prints into a buffer.
#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include "wait.h"

static char text[64];

static void *waits(void *p)
{
    while (!atomic_load(&x))
        snprintf(text, sizeof text, "%d", 7);
    assert(text[0] == 0);
    return p;
}
