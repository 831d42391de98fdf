// expect: error
// A failed compare-exchange leaves what it found in `expected`.
#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include "wait.h"

static void *waits(void *p)
{
    int expected = 0;

    while (!atomic_compare_exchange_strong(&x, &expected, expected + 1))
        ;
    assert(expected == 0);
    return p;
}
