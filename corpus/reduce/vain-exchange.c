// expect: safe
// The interlocked operation in the round writes what is there.
#include <assert.h>
#include "threads.h"

static atomic_int x, y;

static void *a(void *p)
{
    int first, second;

    do {
        first = atomic_fetch_add(&x, 0);
        second = atomic_fetch_add(&x, 0);
    } while (first != second);
    assert(first == 0 || first == 1 || first == 2);
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
