// expect: error
// counts: fewer
// Threads that are alike draw numbers, and one number is bad.
#include <assert.h>
#include "threads.h"

static atomic_int x;
static int slots[3];

static void *a(void *p)
{
    int me = atomic_fetch_add(&x, 1);

    slots[me] = me;
    assert(me != 2);
    return p;
}

int main(void)
{
    run(3, (function *[]){ a, a, a });
    return 0;
}
