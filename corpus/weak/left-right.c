/* Left-right: there are two copies. Readers read one without waiting while the writer changes the
 * other, then the writer sends readers there, waits until nobody reads the first, and changes it
 * too.
 *
 * P. Ramalhete and A. Correia, "Brief announcement: Left-Right, a concurrency control technique
 * with wait-free population oblivious reads", 2015.
 *
 * Right under sc, tso, pso and c11: a reader has a seq_cst fence between its arrival and its look
 * at the side, the writer between turning the side and its look at arrivals. So the writer waits
 * for the reader, or the reader finds the side that is complete: turned with a release, read with
 * an acquire.
 *
 * BROKEN has no fence in the reader. It may read the old side while its arrival is still in the
 * store buffer, and the writer changes that side under its eyes: it fails on tso already.
 */
#include "weak.h"

static atomic_int x[2], y[2]; /* two copies of two values that are always equal */
static atomic_int side;       /* which copy is read */
static atomic_int version;    /* where readers arrive */
static atomic_int arrived[2];

static void reader(void)
{
    int v = load(&version, rlx);
    int s, a, b;

    store(&arrived[v], 1, rlx);
#ifndef BROKEN
    fence(sc);
#endif
    s = load(&side, acq);
    a = load(&x[s], rlx);
    b = load(&y[s], rlx);
    assert(a == b); /* nobody writes here */
    store(&arrived[v], 0, rel);
}

static void change(int s, int value)
{
    store(&x[s], value, rlx);
    store(&y[s], value, rlx);
}

static void wait_for(int v)
{
    while (load(&arrived[v], acq))
        ;
}

static void writer(int value)
{
    int s = load(&side, rlx);
    int v = load(&version, rlx);

    change(1 - s, value);
    store(&side, 1 - s, rel);
    fence(sc);
    wait_for(1 - v);
    store(&version, 1 - v, rlx);
    wait_for(v);
    change(s, value);
}

static void *run(void *arg)
{
    if (arg != NULL)
        writer(1);
    else
        reader();
    return NULL;
}

int main(void)
{
    threads(2, run);
    return 0;
}
