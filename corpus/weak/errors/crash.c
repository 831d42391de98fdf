// fails: uses a null pointer
// The second one finds nothing to take.
#include "alone.h"

static int block;
static _Atomic(int *) offered = &block;

static void *run(void *p)
{
    if (alone((int)(intptr_t)p))
        *swap(&offered, NULL, acq_rel) = 1;
    return NULL;
}

int main(void)
{
    threads(2, run);
    return 0;
}
