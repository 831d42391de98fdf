// expect: error
// Two values of x, and then y decides whether there is another round.
#include <assert.h>
#include "threads.h"

static atomic_int x, y;

static void *a(void *p)
{
    int first, second;

    do {
        first = atomic_load(&x);
        second = atomic_load(&x);
    } while (first != second && atomic_load(&y) == 0);
    assert(first == second);
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
