/* Treiber's stack.
 *
 * R. K. Treiber, "Systems programming: coping with parallelism", 1986. No node is used again.
 *
 * Right under sc, tso, pso and c11. A node is pushed with a release, and the top is read with an
 * acquire. Popping orders nothing: whatever changes the top is a read-modify-write, and so
 * continues the release sequences of all pushes before it.
 *
 * BROKEN pushes with a relaxed compare-exchange. Another thread may pop the node before its value
 * has arrived: it fails on pso and under c11. On tso a compare-exchange waits for the store
 * buffer.
 */
#include "weak.h"

#ifdef BROKEN
#define PUBLISH rlx
#else
#define PUBLISH rel
#endif

struct node {
    atomic_int value;
    _Atomic(struct node *) next;
};

static struct node nodes[2];
static _Atomic(struct node *) top;
static atomic_int popped[2];

static void push(struct node *n, int value)
{
    struct node *old;

    store(&n->value, value, rlx);
    do {
        old = load(&top, rlx);
        store(&n->next, old, rlx);
    } while (!cas(&top, old, n, PUBLISH));
}

static struct node *pop(void)
{
    struct node *old;

    do {
        old = load(&top, acq);
        if (old == NULL)
            return NULL;
    } while (!cas(&top, old, load(&old->next, rlx), rlx));
    return old;
}

static void *run(void *arg)
{
    int me = arg != NULL;
    struct node *n;
    int others;

    push(&nodes[me], me + 1);
    n = pop();
    assert(n != NULL);                 /* there are as many pushes as pops */
    assert(load(&n->value, rlx) != 0); /* what was pushed is there */
    others = add(&popped[n - nodes], 1, rlx);
    assert(others == 0); /* nobody else has it */
    return NULL;
}

int main(void)
{
    threads(2, run);
    return 0;
}
