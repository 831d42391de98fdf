/* Read-copy-update with two readers: the writer publishes a new version, waits until nobody can
 * still read the old one, and takes it back.
 *
 * M. Desnoyers, P. E. McKenney, A. S. Stern, M. R. Dagenais and J. Walpole, "User-level
 * implementations of read-copy update", 2012; here with one flag per reader, and one grace period.
 *
 * Right under sc, tso, pso and c11: a reader has a seq_cst fence between its flag and the pointer,
 * the writer one between the pointer and the flags. So the writer waits for the reader, or the
 * reader finds the new version. The flag goes down with a release that the writer acquires, so it
 * takes back after the last read.
 *
 * BROKEN has no fence in the reader. It may read the old pointer while its flag is still in the
 * store buffer; the writer sees no reader and takes the version back: it fails on tso already.
 */
#include "weak.h"

struct version {
    atomic_int value;
    atomic_int taken_back;
};

static struct version versions[2] = {{.value = 1}};
static _Atomic(struct version *) current = &versions[0];
static atomic_int reading[2];

static void reader(int me)
{
    struct version *v;

    store(&reading[me], 1, rlx);
#ifndef BROKEN
    fence(sc);
#endif
    v = load(&current, acq);
    assert(load(&v->value, rlx) != 0);      /* it is complete */
    assert(load(&v->taken_back, rlx) == 0); /* and still there */
    store(&reading[me], 0, rel);
}

static void writer(void)
{
    store(&versions[1].value, 2, rlx);
    store(&current, &versions[1], rel);
    fence(sc);
    for (int i = 0; i < 2; i++)
        while (load(&reading[i], acq))
            ;
    store(&versions[0].taken_back, 1, rlx);
}

static void *run(void *arg)
{
    int me = (int)(intptr_t)arg;

    if (me < 2)
        reader(me);
    else
        writer();
    return NULL;
}

int main(void)
{
    threads(3, run);
    return 0;
}
