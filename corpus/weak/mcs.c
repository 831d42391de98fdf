/* The MCS lock: threads queue up, and each waits for a flag in its own node.
 *
 * J. M. Mellor-Crummey and M. L. Scott, "Algorithms for scalable synchronization on shared-memory
 * multiprocessors", 1991.
 *
 * Right under sc, tso, pso and c11. The lock is handed over by a release store that an acquire
 * load reads (locked), or by a release compare-exchange that an acquire exchange reads (tail). A
 * node is linked in with a release, so that whoever clears its flag does so after the flag was
 * set; and the exchange is a release, so that the next one's link comes after we have cleared our
 * own.
 *
 * BROKEN hands over with a relaxed store. The next thread may be inside before what we did there
 * has arrived: it fails on pso and under c11. On tso stores arrive in order.
 */
#include "weak.h"

#ifdef BROKEN
#define HAND_OVER rlx
#else
#define HAND_OVER rel
#endif

struct node {
    _Atomic(struct node *) next;
    atomic_int locked;
};

static struct node nodes[2];
static _Atomic(struct node *) tail;
static atomic_int owner;

static void lock(struct node *n)
{
    struct node *before;

    store(&n->next, NULL, rlx);
    store(&n->locked, 1, rlx);
    before = swap(&tail, n, acq_rel);
    if (before != NULL) {
        store(&before->next, n, rel);
        while (load(&n->locked, acq))
            ;
    }
}

static void unlock(struct node *n)
{
    struct node *next = load(&n->next, acq);

    if (next == NULL) {
        if (cas(&tail, n, NULL, rel))
            return;
        while ((next = load(&n->next, acq)) == NULL)
            ;
    }
    store(&next->locked, 0, HAND_OVER);
}

static void *run(void *arg)
{
    int me = arg != NULL;

    for (int i = 0; i < 2; i++) {
        lock(&nodes[me]);
        store(&owner, me, rlx);
        assert(load(&owner, rlx) == me); /* nobody else is inside */
        unlock(&nodes[me]);
    }
    return NULL;
}

int main(void)
{
    threads(2, run);
    return 0;
}
