/* The CLH lock: threads queue up, and each waits for the flag of the one before it, whose node it
 * then takes over.
 *
 * T. S. Craig, "Building FIFO and priority-queueing spin locks from atomic swap", 1993; P.
 * Magnusson, A. Landin and E. Hagersten, "Queue locks on cache coherent multiprocessors", 1994.
 *
 * Right under sc, tso, pso and c11. The flag is cleared with a release, and waited for with an
 * acquire. The exchange is a release, so that the next thread finds our flag set, and an acquire,
 * so that we find the one of the thread before us.
 *
 * BROKEN clears the flag with a relaxed store. The next thread may be inside before what we did
 * there has arrived: it fails on pso and under c11. On tso stores arrive in order.
 */
#include "weak.h"

#ifdef BROKEN
#define HAND_OVER rlx
#else
#define HAND_OVER rel
#endif

static atomic_int locked[3]; /* the nodes */
static atomic_int tail = 2;  /* a node */
static atomic_int owner;

static void *run(void *arg)
{
    int me = arg != NULL;
    int node = me;

    for (int i = 0; i < 2; i++) {
        int before;

        store(&locked[node], 1, rlx);
        before = swap(&tail, node, acq_rel);
        while (load(&locked[before], acq))
            ;
        store(&owner, me, rlx);
        assert(load(&owner, rlx) == me); /* nobody else is inside */
        store(&locked[node], 0, HAND_OVER);
        node = before;
    }
    return NULL;
}

int main(void)
{
    threads(2, run);
    return 0;
}
