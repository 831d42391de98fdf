// expect: error
// The round changes a local through a pointer that was passed on.
#include <assert.h>
#include "threads.h"

static atomic_int x, y;

static int look(int *n)
{
    if (atomic_load(&x))
        return 1;
    if (*n < 2)
        *n += atomic_load(&y);
    return 0;
}

static void *a(void *p)
{
    int n = 0;

    while (!look(&n))
        ;
    assert(n < 2);
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
