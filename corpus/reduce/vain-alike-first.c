// expect: error
// counts: fewer
// One of them finds the value that another one left for a moment.
#include <assert.h>
#include "threads.h"

static atomic_int x, y;

static void *a(void *p)
{
    int old;

    do {
        old = atomic_load(&x);
    } while (!atomic_compare_exchange_strong(&x, &old, old + 2));
    if (old == 0)
        atomic_fetch_sub(&x, 1);
    else
        assert(old != 2);
    return p;
}

int main(void)
{
    run(2, (function *[]){ a, a });
    return 0;
}
