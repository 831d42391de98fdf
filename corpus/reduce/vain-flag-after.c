// expect: error
// The exchange fails, and the loop ends because of another flag that is read after it.
#include <assert.h>
#include "threads.h"

static atomic_int x, y;

static void *a(void *p)
{
    int old, done = 0;

    do {
        old = atomic_load(&x);
        if (atomic_compare_exchange_strong(&x, &old, 5))
            return p;
        done = atomic_load(&y);
    } while (!done);
    assert(old != 1);
    return p;
}

static void *b(void *p)
{
    atomic_store(&x, 1);
    atomic_store(&y, 1);
    return p;
}

int main(void)
{
    run(2, (function *[]){ a, b });
    return 0;
}
