// expect: error
// counts: fewer
// One of them comes late and finds both others.
#include <assert.h>
#include "threads.h"

static atomic_int in, most;

static void *a(void *p)
{
    int now = atomic_fetch_add(&in, 1) + 1, old;

    do {
        old = atomic_load(&most);
    } while (old < now && !atomic_compare_exchange_strong(&most, &old, now));
    atomic_fetch_sub(&in, 1);
    assert(atomic_load(&most) != 2);
    return p;
}

int main(void)
{
    run(2, (function *[]){ a, a });
    return 0;
}
