// expect: error
// A round registers something for the end of the program.
#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include "wait.h"

static int registered;

static void at_end(void)
{
    assert(registered < 1);
}

static void *waits(void *p)
{
    for (int i = 0; i < 2 && !atomic_load(&x); i++) {
        registered++;
        atexit(at_end);
    }
    return p;
}
