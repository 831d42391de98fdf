// fails: memory that has been freed
// One frees what the other one uses.
#include "alone.h"
#include <stdlib.h>

static atomic_int *block;

static void *run(void *p)
{
    int me = (int)(intptr_t)p;

    if (!alone(me))
        return NULL;
    if (me == 0)
        free(block);
    else
        store(block, 1, rlx);
    return NULL;
}

int main(void)
{
    block = malloc(sizeof *block);
    threads(2, run);
    return 0;
}
