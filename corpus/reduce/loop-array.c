// expect: error
// A round writes one element after the other, and begins again.
#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include "wait.h"

static void *waits(void *p)
{
    volatile int seen[3] = { 0 };
    int i = 0;

    while (!atomic_load(&x)) {
        seen[i] = 1;
        i = (i + 1) % 3;
    }
    assert(!(seen[1] && i == 2));
    return p;
}
