/* A sense-reversing barrier: the last thread to arrive turns the sense, for which the others wait.
 *
 * D. Hensgen, R. Finkel and U. Manber, "Two algorithms for barrier synchronization", 1988.
 *
 * Right under sc, tso, pso and c11. Arriving is acquire and release, so the last one comes after
 * what all others did before; the sense is turned with a release and waited for with an acquire.
 *
 * BROKEN arrives with a relaxed read-modify-write. What a thread did before the barrier may arrive
 * after its arrival, and another one does not see it behind the barrier: it fails on pso and under
 * c11. On tso a read-modify-write waits for the store buffer.
 */
#include "weak.h"

#ifdef BROKEN
#define ARRIVE rlx
#else
#define ARRIVE acq_rel
#endif

static atomic_int missing = 2;
static atomic_int sense;
static atomic_int phase[2];

static void meet(int turned)
{
    if (add(&missing, -1, ARRIVE) == 1) {
        store(&missing, 2, rlx);
        store(&sense, turned, rel);
    } else {
        while (load(&sense, acq) != turned)
            ;
    }
}

static void *run(void *arg)
{
    int me = arg != NULL;

    for (int i = 1; i <= 2; i++) {
        store(&phase[me], i, rlx);
        meet(i % 2);
        assert(load(&phase[1 - me], rlx) >= i); /* the other one was here too */
    }
    return NULL;
}

int main(void)
{
    threads(2, run);
    return 0;
}
