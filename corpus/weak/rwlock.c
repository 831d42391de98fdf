/* A big-reader lock: each reader has a flag of its own, and a writer looks at all of them.
 *
 * W. C. Hsieh and W. E. Weihl, "Scalable reader-writer locks for parallel systems", IPPS 1992; in
 * Linux once "brlock".
 *
 * Right under sc, tso, pso and c11: both sides have a seq_cst fence between their flag and their
 * look at the other's, so one of them sees the other. Flags go down with a release and are looked
 * at with an acquire, so one critical section is before the other.
 *
 * BROKEN has no fences. Both look while their own flag is still in a store buffer, and the reader
 * reads half of what the writer writes: it fails on tso already.
 */
#include "weak.h"

static atomic_int reading, writing;
static atomic_int x, y; /* always equal */

static void raise_flag(atomic_int *flag)
{
    store(flag, 1, rlx);
#ifndef BROKEN
    fence(sc);
#endif
}

static void *run(void *arg)
{
    if (arg != NULL) {
        raise_flag(&writing);
        while (load(&reading, acq))
            ;
        store(&x, 1, rlx);
        store(&y, 1, rlx);
        store(&writing, 0, rel);
    } else {
        int a, b;

        for (;;) {
            raise_flag(&reading);
            if (!load(&writing, acq))
                break;
            store(&reading, 0, rlx);
            while (load(&writing, acq))
                ;
        }
        a = load(&x, rlx);
        b = load(&y, rlx);
        assert(a == b); /* nobody writes meanwhile */
        store(&reading, 0, rel);
    }
    return NULL;
}

int main(void)
{
    threads(2, run);
    return 0;
}
