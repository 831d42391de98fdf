/* Szymanski's mutex: a waiting room, whose door closes behind those who came together.
 *
 * B. K. Szymanski, "A simple solution to Lamport's concurrent programming problem with linear
 * wait", ICS 1988.
 *
 * Right under sc, tso, pso and c11: every flag is seq_cst up to the critical section, which is all
 * that the proof looks at. The last store only has to be seen after the critical section: release.
 *
 * BROKEN has releases and acquires instead. A thread may look at the other's flag while its own is
 * still in its store buffer; both find 0, both walk through the door, and both are inside. It
 * fails on tso already.
 */
#include "weak.h"

#ifdef BROKEN
#define ENTER rel
#define LOOK acq
#else
#define ENTER sc
#define LOOK sc
#endif

/* 0: outside, 1: wants in, 2: waits for others, 3: in the door, 4: inside, the door is closed. */
static atomic_int flag[2];
static atomic_int owner;

static int flag_of(int thread)
{
    return load(&flag[thread], LOOK);
}

static void enter(int me)
{
    int other = 1 - me;

    store(&flag[me], 1, ENTER);
    while (flag_of(other) > 2)
        ;
    store(&flag[me], 3, ENTER);
    if (flag_of(other) == 1) {
        store(&flag[me], 2, ENTER);
        while (flag_of(other) != 4)
            ;
    }
    store(&flag[me], 4, ENTER);
    if (me == 1)
        while (flag_of(other) > 1)
            ;
}

static void leave(int me)
{
    int f;

    if (me == 0)
        do
            f = flag_of(1);
        while (f == 2 || f == 3);
    store(&flag[me], 0, rel);
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
