/* A sequence lock whose reader retries: the writer counts before and after it writes, and a reader
 * that saw an odd count or two different ones reads again.
 *
 * In terms of C11: H.-J. Boehm, "Can seqlocks get along with programming language memory models?",
 * MSPC 2012.
 *
 * Right under sc, tso, pso and c11, but not sequentially consistent on pso and under c11: nothing
 * keeps the stores to x and y in order, and the reader may find the new y and the old x. Then it
 * has read something that was written behind the release fence, so behind its acquire fence it
 * finds another count, and reads again: the violation is harmless.
 *
 * BROKEN has no release fence. The new values may arrive before the odd count, and a reader sees
 * the same even count twice with one new value and one old: it fails on pso and under c11. On tso
 * stores arrive in order.
 */
#include "weak.h"

static atomic_int count;
static atomic_int x, y; /* always equal */

static void *run(void *arg)
{
    if (arg != NULL) {
        store(&count, 1, rlx);
#ifndef BROKEN
        fence(rel);
#endif
        store(&x, 1, rlx);
        store(&y, 1, rlx);
        store(&count, 2, rel);
    } else {
        int c, a, b;

        do {
            while ((c = load(&count, acq)) % 2 != 0)
                ;
            b = load(&y, rlx);
            a = load(&x, rlx);
            fence(acq);
        } while (load(&count, rlx) != c);
        assert(a == b);           /* they belong together */
        assert(c == 0 || a == 1); /* and to the count */
    }
    return NULL;
}

int main(void)
{
    threads(2, run);
    return 0;
}
