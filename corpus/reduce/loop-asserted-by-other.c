// expect: error
// What a round did is asserted by another thread, later.
#include <assert.h>
#include "threads.h"

static atomic_int x;
static int count;

static void *waits(void *p)
{
    while (!atomic_load(&x))
        count |= 1;
    return p;
}

static void *writes(void *p)
{
    atomic_store(&x, 1);
    return p;
}

int main(void)
{
    run(2, (function *[]){ waits, writes });
    assert(count == 0);
    return 0;
}
