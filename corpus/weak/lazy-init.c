/* Lazy initialisation, double-checked: the first thread that needs an object makes it, and the
 * others take the lock only if they find none.
 *
 * D. C. Schmidt and T. Harrison, "Double-checked locking", 1996.
 *
 * Right under sc, tso, pso and c11. The pointer is published with a release and read with an
 * acquire, so the object is complete where the pointer is. Under the lock a relaxed load is
 * enough: the lock orders it.
 *
 * BROKEN publishes with a relaxed store. The pointer may arrive before the object: it fails on pso
 * and under c11. On tso stores arrive in order.
 */
#include "weak.h"

#ifdef BROKEN
#define PUBLISH rlx
#else
#define PUBLISH rel
#endif

struct table {
    atomic_int size;
};

static struct table memory;
static _Atomic(struct table *) table;
static atomic_int locked;
static atomic_int made; /* protected by the lock */

static struct table *get(void)
{
    struct table *t = load(&table, acq);

    if (t != NULL)
        return t;
    while (!cas(&locked, 0, 1, acq))
        ;
    t = load(&table, rlx);
    if (t == NULL) {
        t = &memory;
        store(&t->size, 42, rlx);
        store(&made, load(&made, rlx) + 1, rlx);
        store(&table, t, PUBLISH);
    }
    store(&locked, 0, rel);
    return t;
}

static void *run(void *arg)
{
    assert(load(&get()->size, rlx) == 42); /* the object is complete */
    return arg;
}

int main(void)
{
    threads(2, run);
    assert(load(&made, rlx) == 1); /* it is made once */
    return 0;
}
