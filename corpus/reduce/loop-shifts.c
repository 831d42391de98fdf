// expect: error
// Each round shifts a mask, and the last one counts.
#include <assert.h>
#include "threads.h"

static atomic_int x, y;

static void *a(void *p)
{
    unsigned mask = 1;

    while (!atomic_load(&x))
        if (atomic_load(&y) && mask < 4)
            mask <<= 1;
    assert(mask != 2);
    return p;
}

static void *b(void *p)
{
    atomic_store(&y, 1);
    atomic_store(&x, 1);
    return p;
}

int main(void)
{
    run(2, (function *[]){ a, b });
    return 0;
}
