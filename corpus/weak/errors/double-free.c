// fails: frees memory twice
// Both free it.
#include "alone.h"
#include <stdlib.h>

static int *block;

static void *run(void *p)
{
    if (alone((int)(intptr_t)p))
        free(block);
    return NULL;
}

int main(void)
{
    block = malloc(sizeof *block);
    threads(2, run);
    return 0;
}
