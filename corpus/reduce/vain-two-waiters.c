// expect: error
// Both try in vain, and each needs the other one.
#include "threads.h"

static atomic_int x, y;

static void *a(void *p)
{
    int old;

    do {
        old = atomic_load(&x);
    } while (old == 2 || !atomic_compare_exchange_strong(&x, &old, old + 1));
    return p;
}

int main(void)
{
    run(3, (function *[]){ a, a, a });
    return 0;
}
