// fails: ends with status 3
// The program ends itself with a status that says so.
#include "alone.h"
#include <stdlib.h>

static atomic_int inside;

static void *run(void *p)
{
    if (alone((int)(intptr_t)p) && add(&inside, 1, rlx))
        exit(3);
    return NULL;
}

int main(void)
{
    threads(2, run);
    return 0;
}
