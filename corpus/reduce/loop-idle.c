// expect: safe
// Nothing that a round does matters: a scratch variable is overwritten before it is read.
#include <assert.h>
#include "threads.h"

static atomic_int x;

static void *waits(void *p)
{
    int scratch = 0, now;

    do {
        now = atomic_load(&x);
        scratch = now + 1;
    } while (now < 2);
    assert(scratch == 3);
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
