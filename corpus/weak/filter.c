/* The filter lock: Peterson's lock for more than two threads, level by level. Here three may come,
 * and two do.
 *
 * G. L. Peterson, "Myths about the mutual exclusion problem", 1981; in this form M. Herlihy and N.
 * Shavit, "The art of multiprocessor programming", 2008.
 *
 * Right under sc, tso, pso and c11: levels and victims are seq_cst, so the lock is as under
 * sequential consistency. Leaving only has to be seen after the critical section: release.
 *
 * BROKEN has releases and acquires instead. Both threads look at the other's level while their own
 * is still in a store buffer, find nobody, and go through: it fails on tso already.
 */
#include "weak.h"

#ifdef BROKEN
#define ENTER rel
#define LOOK acq
#else
#define ENTER sc
#define LOOK sc
#endif

#define MAX 3 /* threads */

static atomic_int level[MAX];
static atomic_int victim[MAX]; /* of each level: who came last */
static atomic_int owner;

static int somebody_at(int l, int me)
{
    for (int k = 0; k < MAX; k++)
        if (k != me && load(&level[k], LOOK) >= l)
            return 1;
    return 0;
}

static void enter(int me)
{
    for (int l = 1; l < MAX; l++) {
        store(&level[me], l, ENTER);
        store(&victim[l], me, ENTER);
        while (somebody_at(l, me) && load(&victim[l], LOOK) == me)
            ;
    }
}

static void *run(void *arg)
{
    int me = arg != NULL;

    enter(me);
    store(&owner, me, rlx);
    assert(load(&owner, rlx) == me); /* nobody else is inside */
    store(&level[me], 0, rel);
    return NULL;
}

int main(void)
{
    threads(2, run);
    return 0;
}
