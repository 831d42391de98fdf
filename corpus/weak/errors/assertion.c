// fails: assertion `add(&inside, 1, rlx) == 0` fails
// Both are inside.
#include "alone.h"

static atomic_int inside;

static void *run(void *p)
{
    if (alone((int)(intptr_t)p))
        assert(add(&inside, 1, rlx) == 0);
    return NULL;
}

int main(void)
{
    threads(2, run);
    return 0;
}
