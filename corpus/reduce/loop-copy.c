// expect: error
// A round copies a structure.
#include <assert.h>
#include <stddef.h>
#include "wait.h"

struct six { long a[6]; };

static void *waits(void *p)
{
    struct six one = {{0}}, two = {{0, 0, 0, 0, 0, 1}};

    while (!atomic_load(&x))
        one = two;
    assert(one.a[5] == 0);
    return p;
}
