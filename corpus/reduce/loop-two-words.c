// expect: error
// Two values that are read belong together.
#include <assert.h>
#include "threads.h"

static atomic_int x;
static atomic_int y;

static void *waits(void *p)
{
    int a, b;

    do {
        a = atomic_load(&x);
        b = atomic_load(&y);
    } while (a == b);
    assert(a == 1 && b == 0);
    return p;
}

static void *writes(void *p)
{
    atomic_store(&x, 1); atomic_store(&y, 1); atomic_store(&x, 0);
    return p;
}

int main(void)
{
    run(2, (function *[]){ waits, writes });
    return 0;
}
