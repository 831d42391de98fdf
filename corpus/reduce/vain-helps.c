// expect: error
// A try in vain, but before it the thread has helped.
#include <assert.h>
#include "threads.h"

static atomic_int x, y;

static void *a(void *p)
{
    int first, second, help;

    do {
        first = atomic_load(&x);
        help = 0;
        atomic_compare_exchange_strong(&y, &help, 1);
        second = atomic_load(&x);
    } while (first != second);
    return p;
}

static void *b(void *p)
{
    atomic_store(&x, 1);
    assert(atomic_load(&y) == 0);
    atomic_store(&x, 2);
    return p;
}

int main(void)
{
    run(2, (function *[]){ a, b });
    return 0;
}
