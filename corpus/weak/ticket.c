/* A ticket lock: draw a ticket, wait until its number is called.
 *
 * D. P. Reed and R. K. Kanodia, "Synchronization with eventcounts and sequencers", 1979.
 *
 * Right under sc, tso, pso and c11. Tickets are drawn with a relaxed read-modify-write: that they
 * differ is all that counts. Numbers are called with a release and waited for with an acquire. On
 * pso and under c11 it is not sequentially consistent: a thread may draw its second ticket before
 * others see it call the next number. That is harmless: the order of tickets stays the same.
 *
 * BROKEN calls with a relaxed store. The next thread may be inside before what we did there has
 * arrived: it fails on pso and under c11. On tso stores arrive in order.
 */
#include "weak.h"

#ifdef BROKEN
#define HAND_OVER rlx
#else
#define HAND_OVER rel
#endif

static atomic_int next_ticket, now_serving;
static atomic_int owner;

static void *run(void *arg)
{
    int me = arg != NULL;

    for (int i = 0; i < 2; i++) {
        int ticket = add(&next_ticket, 1, rlx);

        while (load(&now_serving, acq) != ticket)
            ;
        store(&owner, me, rlx);
        assert(load(&owner, rlx) == me); /* nobody else is inside */
        store(&now_serving, ticket + 1, HAND_OVER);
    }
    return NULL;
}

int main(void)
{
    threads(2, run);
    return 0;
}
