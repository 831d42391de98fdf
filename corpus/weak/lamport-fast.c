/* Lamport's fast mutex: seven accesses where nobody else wants to enter.
 *
 * L. Lamport, "A fast mutual exclusion algorithm", 1987.
 *
 * Right under sc, tso, pso and c11: whatever decides who enters is seq_cst, so it is as under
 * sequential consistency. Leaving only has to be seen after the critical section: release.
 *
 * BROKEN has releases and acquires instead. Each thread's store to x may be delayed beyond its
 * load of y, and its store to y beyond its load of x: both find y free and themselves in x, and
 * both are inside. That is what store buffers do, so it fails on tso already.
 */
#include "weak.h"

#ifdef BROKEN
#define ENTER rel
#define LOOK acq
#else
#define ENTER sc
#define LOOK sc
#endif

static atomic_int x, y; /* 0, or 1 + the number of a thread */
static atomic_int wants[2];
static atomic_int owner;

static void enter(int me)
{
    for (;;) {
        store(&wants[me], 1, ENTER);
        store(&x, me + 1, ENTER);
        if (load(&y, LOOK) != 0) {
            store(&wants[me], 0, ENTER);
            while (load(&y, LOOK) != 0)
                ;
            continue;
        }
        store(&y, me + 1, ENTER);
        if (load(&x, LOOK) == me + 1)
            return;
        store(&wants[me], 0, ENTER);
        while (load(&wants[1 - me], LOOK))
            ;
        if (load(&y, LOOK) == me + 1)
            return;
        while (load(&y, LOOK) != 0)
            ;
    }
}

static void leave(int me)
{
    store(&y, 0, rel);
    store(&wants[me], 0, rel);
}

static void *run(void *arg)
{
    int me = arg != NULL;

    enter(me);
    store(&owner, me, rlx);
    assert(load(&owner, rlx) == me); /* nobody else is inside */
    leave(me);
    return NULL;
}

int main(void)
{
    threads(2, run);
    return 0;
}
