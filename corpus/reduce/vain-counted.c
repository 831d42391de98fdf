// expect: error
// Failed tries are counted.
#include <assert.h>
#include "threads.h"

static atomic_int x, y;

static void *a(void *p)
{
    int old, fails = -1;

    do {
        old = atomic_load(&x);
        fails++;
    } while (!atomic_compare_exchange_strong(&x, &old, old + 1));
    assert(fails < 2);
    return p;
}

static void *b(void *p)
{
    atomic_fetch_add(&x, 1);
    atomic_fetch_add(&x, 1);
    return p;
}

int main(void)
{
    run(2, (function *[]){ a, b });
    return 0;
}
