// expect: error
// A round exchanges two variables: two of them change nothing.
#include <assert.h>
#include <stddef.h>
#include "wait.h"

static void *waits(void *p)
{
    int a = 1, b = 2;

    while (!atomic_load(&x)) {
        int c = a;

        a = b;
        b = c;
    }
    assert(a == 1);
    return p;
}
