// expect: safe
// A retry loop whose failed tries change nothing.
#include <assert.h>
#include "threads.h"

static atomic_int x;
static atomic_int y;

static void *waits(void *p)
{
    int old, new;

    do {
        old = atomic_load(&x);
        new = old + atomic_load(&y);
    } while (!atomic_compare_exchange_strong(&x, &old, new + 1));
    assert(new >= old);
    return p;
}

static void *writes(void *p)
{
    atomic_fetch_add(&x, 1); atomic_fetch_add(&y, 1);
    return p;
}

int main(void)
{
    run(2, (function *[]){ waits, writes });
    return 0;
}
