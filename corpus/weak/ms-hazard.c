/* Michael and Scott's queue with hazard pointers: a thread says which nodes it is about to read,
 * and nobody takes those back.
 *
 * M. M. Michael and M. L. Scott, "Simple, fast, and practical non-blocking and blocking concurrent
 * queue algorithms", PODC 1996; M. M. Michael, "Hazard pointers: safe memory reclamation for lock-
 * free objects", 2004.
 *
 * Right under sc, tso, pso and c11: between its hazard pointer and the look whether the node is
 * still there a thread has a seq_cst fence, and so has a thread between unlinking a node and
 * looking at hazard pointers. So the one that takes a node back sees that it is read, or the
 * reader sees that it is gone. Nodes are linked in with a release and followed with an acquire.
 *
 * It is sequentially consistent under sc only. A hazard pointer is cleared with a relaxed store,
 * which may still be in the store buffer when others look: they keep a node that they could take
 * back. That is harmless, and cheaper than a fence. It needs no order with the reads before it
 * either: a node that is taken back later cannot change what was read before.
 *
 * BROKEN has no fence behind the hazard pointer. It is still in the store buffer when the other
 * thread looks, which takes back a node that is being read: it fails on tso already.
 */
#include "weak.h"

struct node {
    atomic_int value;
    _Atomic(struct node *) next;
    atomic_int taken_back;
};

static struct node nodes[3] = {{.next = &nodes[1]}, {.value = 1}};
static _Atomic(struct node *) head = &nodes[0]; /* its value has been taken already */
static _Atomic(struct node *) tail = &nodes[1];
static _Atomic(struct node *) hazard[2][2];
static atomic_int taken[3]; /* of each value: how often */

static void say(int me, int i, struct node *n)
{
    store(&hazard[me][i], n, rlx);
#ifndef BROKEN
    fence(sc);
#endif
}

static void clear(int me)
{
    store(&hazard[me][0], NULL, rlx);
    store(&hazard[me][1], NULL, rlx);
}

static void use(struct node *n)
{
    assert(load(&n->taken_back, rlx) == 0); /* nobody takes back what is being read */
}

static void retire(int me, struct node *n)
{
    fence(sc);
    if (load(&hazard[1 - me][0], acq) != n && load(&hazard[1 - me][1], acq) != n)
        store(&n->taken_back, 1, rlx);
}

static void enqueue(int me, struct node *n, int value)
{
    store(&n->value, value, rlx);
    for (;;) {
        struct node *last = load(&tail, acq);
        struct node *next;

        say(me, 0, last);
        if (load(&tail, acq) != last)
            continue;
        use(last);
        next = load(&last->next, acq);
        if (next != NULL) {
            cas(&tail, last, next, rel);
        } else if (cas(&last->next, NULL, n, rel)) {
            cas(&tail, last, n, rel);
            break;
        }
    }
    clear(me);
}

/* 0 if the queue is empty. */
static int dequeue(int me)
{
    for (;;) {
        struct node *first = load(&head, acq);
        struct node *last, *next;
        int value;

        say(me, 0, first);
        if (load(&head, acq) != first)
            continue;
        use(first);
        last = load(&tail, acq);
        next = load(&first->next, acq);
        if (next == NULL) {
            clear(me);
            return 0;
        }
        say(me, 1, next);
        if (load(&head, acq) != first)
            continue;
        if (first == last) {
            cas(&tail, last, next, rel);
            continue;
        }
        use(next);
        value = load(&next->value, rlx);
        if (cas(&head, first, next, rel)) {
            clear(me);
            retire(me, first);
            return value;
        }
    }
}

static void *run(void *arg)
{
    int me = arg != NULL;
    int value;

    if (me == 0)
        enqueue(me, &nodes[2], 2);
    value = dequeue(me);
    if (value != 0) {
        int others = add(&taken[value], 1, rlx);

        assert(others == 0); /* nobody else has it */
    }
    return NULL;
}

int main(void)
{
    threads(2, run);
    return 0;
}
