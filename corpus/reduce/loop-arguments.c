// expect: error
// A round takes the next of a list of arguments.
#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include "wait.h"

static __attribute__((noinline)) int next(int n, ...)
{
    va_list list;
    int last;

    va_start(list, n);
    while (!atomic_load(&x) && n-- > 0)
        va_arg(list, int);
    last = va_arg(list, int);
    va_end(list);
    return last;
}

static void *waits(void *p)
{
    assert(next(3, 1, 2, 3, 4) == 1);
    return p;
}
