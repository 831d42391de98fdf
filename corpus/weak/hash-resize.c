/* A hash table that grows: lookups take no lock. Inserting into a full table copies it into one of
 * twice the size, which is then published.
 *
 * As in most concurrent hash tables; a careful one: C. Click, "A lock-free wait-free hash table",
 * 2007.
 *
 * Right under sc, tso, pso and c11: the larger table is published with a release and read with an
 * acquire, so it is complete where it is found. Slots are relaxed: a key is all that there is in
 * one.
 *
 * BROKEN publishes with a relaxed store. A lookup may find the new table before the keys are in
 * it, and miss one that has been there from the beginning: it fails on pso and under c11. On tso
 * stores arrive in order.
 */
#include "weak.h"

#ifdef BROKEN
#define PUBLISH rlx
#else
#define PUBLISH rel
#endif

struct table {
    int size;
    atomic_int slot[4]; /* 0: free */
};

static struct table small = {.size = 2}, large = {.size = 4};
static _Atomic(struct table *) table = &small;

/* Whether there was a place. */
static int put(struct table *t, int key)
{
    for (int i = 0; i < t->size; i++) {
        atomic_int *slot = &t->slot[(key + i) % t->size];

        if (load(slot, rlx) == 0) {
            store(slot, key, rlx);
            return 1;
        }
    }
    return 0;
}

/* One thread inserts. */
static void insert(int key)
{
    struct table *t = load(&table, rlx);

    if (put(t, key))
        return;
    for (int i = 0; i < t->size; i++)
        put(&large, load(&t->slot[i], rlx));
    put(&large, key);
    store(&table, &large, PUBLISH);
}

static int contains(int key)
{
    struct table *t = load(&table, acq);

    for (int i = 0; i < t->size; i++)
        if (load(&t->slot[(key + i) % t->size], rlx) == key)
            return 1;
    return 0;
}

static void *run(void *arg)
{
    if (arg != NULL) {
        insert(2);
        insert(3);
    } else {
        assert(contains(1)); /* it was there from the beginning */
    }
    return NULL;
}

int main(void)
{
    insert(1);
    threads(2, run);
    assert(contains(2) && contains(3)); /* nothing is lost */
    return 0;
}
