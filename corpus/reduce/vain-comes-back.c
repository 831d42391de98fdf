// expect: error
// The address holds again what was read first, so the exchange succeeds with something stale.
#include <assert.h>
#include "threads.h"

static atomic_int x, y;

static void *a(void *p)
{
    int old, saw;

    do {
        old = atomic_load(&x);
        saw = atomic_load(&y);
    } while (!atomic_compare_exchange_strong(&x, &old, 9));
    if (old == 0)
        assert(saw == atomic_load(&y));
    return p;
}

static void *b(void *p)
{
    atomic_store(&x, 1);
    atomic_store(&y, 1);
    atomic_store(&x, 0);
    return p;
}

int main(void)
{
    run(2, (function *[]){ a, b });
    return 0;
}
