/* Statistics: each thread counts for itself, and anybody may add up.
 *
 * As in P. E. McKenney, "Is parallel programming hard, and, if so, what can you do about it?",
 * chapter "Counting".
 *
 * Right under sc, tso, pso and c11, but sequentially consistent under sc only: each thread may add
 * up while the other's count, and its own for others, is still in a store buffer. That is
 * harmless, because a sum is only a snapshot: never more than what was counted, and exact in the
 * end.
 *
 * BROKEN relies on it: whoever finds that all has been counted says so. On tso already both may
 * miss the other's count, and nobody does.
 */
#include "weak.h"

static atomic_int count[2];
static atomic_int announced;

static int sum(void)
{
    return load(&count[0], rlx) + load(&count[1], rlx);
}

static void *run(void *arg)
{
    int me = arg != NULL;
    int seen;

    store(&count[me], load(&count[me], rlx) + 1, rlx);
    seen = sum();
    assert(seen == 1 || seen == 2); /* our own, and what others have counted */
    if (seen == 2)
        store(&announced, 1, rlx);
    return NULL;
}

int main(void)
{
    threads(2, run);
    assert(sum() == 2); /* exact in the end */
#ifdef BROKEN
    assert(load(&announced, rlx)); /* the last one has found all of it */
#endif
    return 0;
}
