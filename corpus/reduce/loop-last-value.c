// expect: error
// What a round read is looked at after the loop.
#include <assert.h>
#include "threads.h"

static atomic_int x;

static void *waits(void *p)
{
    int last = 0, now;

    while ((now = atomic_load(&x)) < 2)
        last = now;
    assert(last != 1);
    return p;
}

static void *writes(void *p)
{
    atomic_store(&x, 1); atomic_store(&x, 2);
    return p;
}

int main(void)
{
    run(2, (function *[]){ waits, writes });
    return 0;
}
