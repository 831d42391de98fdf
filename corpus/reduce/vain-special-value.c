// expect: error
// A failed compare-exchange leaves the loop if it finds a certain value.
#include <assert.h>
#include "threads.h"

static atomic_int x, y;

static void *a(void *p)
{
    int old;

    do {
        old = atomic_load(&x);
        if (atomic_compare_exchange_strong(&x, &old, 7))
            return p;
    } while (old != 2);
    assert(0);
    return p;
}

static void *b(void *p)
{
    atomic_store(&x, 1);
    atomic_store(&x, 2);
    return p;
}

int main(void)
{
    run(2, (function *[]){ a, b });
    return 0;
}
