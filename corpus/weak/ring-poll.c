/* A ring buffer for one producer and one consumer, who do not wait: a side that finds it full, or
 * empty, does something else and comes back.
 *
 * L. Lamport, "Specifying concurrent program modules", 1983.
 *
 * Right under sc, tso, pso and c11, but not sequentially consistent on any but sc: each side may
 * look at the other's index while its own is still in a store buffer, so that the producer finds
 * two items and the consumer none. Both then give up once more than they had to, which is
 * harmless: items come complete and in order, because an index is moved with a release and read
 * with an acquire.
 *
 * BROKEN moves the head with a relaxed store. It may arrive before the item, and the consumer
 * reads what was in the slot: it fails on pso and under c11. On tso it is only as harmless as the
 * right one.
 */
#include "weak.h"

#ifdef BROKEN
#define PUBLISH rlx
#else
#define PUBLISH rel
#endif

#define SIZE 2

static atomic_int slot[SIZE];
static atomic_int head; /* items put so far; only the producer moves it */
static atomic_int tail; /* items got so far; only the consumer moves it */

static int try_put(int value)
{
    int h = load(&head, rlx);

    if (h - load(&tail, acq) == SIZE)
        return 0;
    store(&slot[h % SIZE], value, rlx);
    store(&head, h + 1, PUBLISH);
    return 1;
}

static int try_get(int *value)
{
    int t = load(&tail, rlx);

    if (load(&head, acq) == t)
        return 0;
    *value = load(&slot[t % SIZE], rlx);
    store(&tail, t + 1, rel);
    return 1;
}

static void *run(void *arg)
{
    int done = 0;

    for (int i = 0; i < 3; i++) {
        if (arg == NULL) {
            done += try_put(done + 1);
        } else {
            int value;

            if (try_get(&value)) {
                done++;
                assert(value == done); /* nothing is lost, repeated or overtaken */
            }
        }
    }
    return NULL;
}

int main(void)
{
    threads(2, run);
    return 0;
}
