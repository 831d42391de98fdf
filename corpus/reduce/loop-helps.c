// expect: error
// A round that helps writes: others see it.
#include <assert.h>
#include "threads.h"

static atomic_int x;
static atomic_int helped;

static void *waits(void *p)
{
    while (!atomic_load(&x))
        atomic_store(&helped, 1);
    return p;
}

static void *writes(void *p)
{
    int before = atomic_load(&helped); atomic_store(&x, 1); assert(!before);
    return p;
}

int main(void)
{
    run(2, (function *[]){ waits, writes });
    return 0;
}
