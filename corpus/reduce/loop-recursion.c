// expect: error
// A round is a call, and their number is what is returned.
#include <assert.h>
#include <stddef.h>
#include "wait.h"

static __attribute__((noinline)) int look(int n)
{
    return atomic_load(&x) || n > 3 ? n : look(n + 1);
}

static void *waits(void *p)
{
    assert(look(0) != 1);
    return p;
}
