// expect: error
// A round makes a block of memory larger.
#include <assert.h>
#include <stdlib.h>
#include "wait.h"

static void *waits(void *p)
{
    size_t size = 1;
    char *block = malloc(size);

    while (!atomic_load(&x) && size < 4)
        block = realloc(block, size *= 2);
    free(block);
    assert(size < 4);
    return p;
}
