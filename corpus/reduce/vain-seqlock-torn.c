// expect: error
// A reader that checks the wrong counter accepts a torn pair.
#include <assert.h>
#include "threads.h"

static atomic_int seq, u, v, w;

static void *a(void *p)
{
    int s, i, j;

    do {
        s = atomic_load(&seq);
        i = atomic_load(&u);
        j = atomic_load(&v);
    } while (s != atomic_load(&w));
    assert(i == j);
    return p;
}

static void *b(void *p)
{
    atomic_store(&u, 1);
    atomic_store(&v, 1);
    atomic_store(&seq, 2);
    atomic_store(&w, 2);
    return p;
}

int main(void)
{
    run(2, (function *[]){ a, b });
    return 0;
}
