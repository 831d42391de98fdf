/* A ticket lock: draw a ticket, wait until its number is called.
 *
 * Published by D. P. Reed and R. K. Kanodia, "Synchronization with eventcounts and sequencers",
 * 1979; in this form J. M. Mellor-Crummey and M. L. Scott, "Algorithms for scalable
 * synchronization on shared-memory multiprocessors", 1991.
 *
 * Safe on tso, unsafe on pso.
 *
 * pso: in unlock, the store that calls the next number may arrive before the stores of the
 * critical section, and the next thread reads a counter without our increment. On tso stores
 * arrive in order. Also, in lock we may draw a ticket before our own last unlock has arrived; that
 * does no harm, but the others may see the ticket drawn and the old number still being called, in
 * an order in which no sequentially consistent machine could show them.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 2 /* critical sections a thread */
#endif

static atomic_int next_ticket;
static atomic_int now_serving;
static int counter; /* protected by the lock */

static int lock(void)
{
    int mine = atomic_fetch_add_explicit(&next_ticket, 1, memory_order_acquire);

    while (atomic_load_explicit(&now_serving, memory_order_acquire) != mine)
        ;
    return mine;
}

static void unlock(int mine)
{
    atomic_store_explicit(&now_serving, mine + 1, memory_order_relaxed);
}

static void *run(void *arg)
{
    (void)arg;
    for (int i = 0; i < N; i++) {
        int mine = lock();

        counter++;
        unlock(mine);
    }
    return NULL;
}

int main(void)
{
    pthread_t a, b;

    pthread_create(&a, NULL, run, NULL);
    pthread_create(&b, NULL, run, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(counter == 2 * N);
    return 0;
}
