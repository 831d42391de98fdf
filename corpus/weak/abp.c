/* The work-stealing deque of Arora, Blumofe and Plaxton: the owner pushes and pops at the bottom,
 * thieves steal at the top. Top and a tag, which changes when the deque was empty, are one word.
 *
 * N. S. Arora, R. D. Blumofe and C. G. Plaxton, "Thread scheduling for multiprogrammed
 * multiprocessors", SPAA 1998.
 *
 * Right under sc, tso, pso and c11: the owner has a seq_cst fence between moving the bottom and
 * reading the top, the thief between reading the top and the bottom. So the thief sees that the
 * bottom has moved, or the owner that the thief was there, and then the compare-exchange decides.
 * An item is in its place before the bottom moves (release, acquire), and the bottom is back at 0
 * before the tag changes (release).
 *
 * BROKEN has no fence in pop. The owner may read the top while the bottom is still in its store
 * buffer, and takes an item that a thief takes too: it fails on tso already.
 */
#include "weak.h"

#define ITEMS 2
#define TOP(age) ((age) % 256)
#define NEXT_TAG(age) (((age) / 256 + 1) * 256)

static atomic_int item[ITEMS];
static atomic_int age; /* 256 * tag + top */
static atomic_int bottom;
static atomic_int taken[ITEMS + 1]; /* of each item: how often */

static void push(int value)
{
    int b = load(&bottom, rlx);

    store(&item[b], value, rlx);
    store(&bottom, b + 1, rel);
}

/* 0 if there is none. */
static int pop(void)
{
    int b = load(&bottom, rlx);
    int a, value;

    if (b == 0)
        return 0;
    b--;
    store(&bottom, b, rel); /* a thief that reads it finds the items below */
#ifndef BROKEN
    fence(sc);
#endif
    value = load(&item[b], rlx);
    a = load(&age, rlx);
    if (b > TOP(a))
        return value;
    store(&bottom, 0, rlx);
    if (b == TOP(a) && cas(&age, a, NEXT_TAG(a), rel))
        return value;
    store(&age, NEXT_TAG(a), rel);
    return 0;
}

/* 0 if there is none, or somebody else was faster. */
static int steal(void)
{
    int a = load(&age, acq);
    int value;

    fence(sc);
    if (load(&bottom, acq) <= TOP(a))
        return 0;
    value = load(&item[TOP(a)], rlx);
    return cas(&age, a, a + 1, rel) ? value : 0;
}

static void *run(void *arg)
{
    if (arg == NULL)
        for (int i = 1; i <= ITEMS; i++)
            push(i);
    for (int i = 0; i < ITEMS; i++) {
        int value = arg == NULL ? pop() : steal();

        if (value != 0) {
            int others = add(&taken[value], 1, rlx);

            assert(others == 0); /* nobody else has it */
        }
    }
    return NULL;
}

int main(void)
{
    threads(2, run);
    for (int i = 1; i <= ITEMS; i++)
        assert(load(&taken[i], rlx) == 1); /* none is lost */
    return 0;
}
