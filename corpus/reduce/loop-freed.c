// expect: error
// A round frees what is used after the loop.
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include "wait.h"

static void *waits(void *p)
{
    char *block = malloc(1);
    int freed = 0;

    while (!atomic_load(&x))
        if (!freed) {
            free(block);
            freed = 1;
        }
    *(volatile char *)block = 1;
    return p;
}
