// expect: error
// After tries in vain the thread waits for what never comes.
#include "threads.h"

static atomic_int x, y;

static void *a(void *p)
{
    int first, second;

    do {
        first = atomic_load(&x);
        second = atomic_load(&x);
    } while (first != second || first != 3);
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
