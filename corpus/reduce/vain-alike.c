// expect: error
// counts: fewer
// Threads that are alike try in vain; the last one finds two.
#include <assert.h>
#include "threads.h"

static atomic_int x, y;

static void *a(void *p)
{
    int old;

    do {
        old = atomic_load(&x);
    } while (!atomic_compare_exchange_strong(&x, &old, old + 1));
    assert(old != 2);
    return p;
}

int main(void)
{
    run(3, (function *[]){ a, a, a });
    return 0;
}
