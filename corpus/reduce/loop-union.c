// expect: error
// The round changes a byte of a word that is looked at as a whole.
#include <assert.h>
#include "threads.h"

static atomic_int x, y;
union both { int word; unsigned char bytes[4]; };

static void *a(void *p)
{
    union both both = {0};

    while (!atomic_load(&x))
        both.bytes[2] = (unsigned char)atomic_load(&y);
    assert(both.word == 0);
    return p;
}

static void *b(void *p)
{
    atomic_store(&y, 1);
    atomic_store(&x, 1);
    return p;
}

int main(void)
{
    run(2, (function *[]){ a, b });
    return 0;
}
