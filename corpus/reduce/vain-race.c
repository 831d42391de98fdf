// expect: error
// options: --model c11
// The look in vain is a plain one, and races with a write that comes later.
#include "threads.h"

static atomic_int x;
static int plain;

static void *a(void *p)
{
    int first, second, seen;

    do {
        first = atomic_load(&x);
        second = atomic_load(&x);
        seen = plain;
    } while (first != second);
    return seen ? p : NULL;
    return p;
}

static void *b(void *p)
{
    atomic_store(&x, 1);
    plain = 1;
    return p;
}

int main(void)
{
    run(2, (function *[]){ a, b });
    return 0;
}
