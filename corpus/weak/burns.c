/* Burns and Lynch's mutex: one bit per thread, which is as little as there can be.
 *
 * J. E. Burns and N. A. Lynch, "Bounds on shared memory for mutual exclusion", 1993. Thread 0 goes
 * first; thread 1 gives way.
 *
 * Right under sc, tso, pso and c11: between raising its flag and looking at the other one each
 * thread has a seq_cst fence, so one of them sees the other. What a thread reads inside comes
 * after what the other did there: the flag goes down with a release, and is looked at with an
 * acquire.
 *
 * BROKEN has no fences. Both flags are still in store buffers when the threads look, and both
 * enter: it fails on tso already.
 */
#include "weak.h"

static atomic_int flag[2];
static atomic_int owner;

static void raise_flag(int me)
{
    store(&flag[me], 1, rlx);
#ifndef BROKEN
    fence(sc);
#endif
}

static void enter(int me)
{
    if (me == 0) {
        raise_flag(0);
        while (load(&flag[1], acq))
            ;
        return;
    }
    for (;;) {
        while (load(&flag[0], acq))
            ;
        raise_flag(1);
        if (!load(&flag[0], acq))
            return;
        store(&flag[1], 0, rlx);
    }
}

static void *run(void *arg)
{
    int me = arg != NULL;

    enter(me);
    store(&owner, me, rlx);
    assert(load(&owner, rlx) == me); /* nobody else is inside */
    store(&flag[me], 0, rel);
    return NULL;
}

int main(void)
{
    threads(2, run);
    return 0;
}
