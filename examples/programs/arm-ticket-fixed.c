/* A ticket lock: draw a ticket, wait until its number is called.
 *
 * Published by D. P. Reed and R. K. Kanodia, "Synchronization with eventcounts and sequencers",
 * 1979; in this form J. M. Mellor-Crummey and M. L. Scott, "Algorithms for scalable synchronization
 * on shared-memory multiprocessors", 1991.
 *
 * Safe on tso, on pso and under c11.
 *
 * The fix: calling a number is a release store, waiting for it an acquire load, so that each
 * critical section happens before the next. Drawing a ticket stays relaxed: it is atomic, and that
 * is enough.
 *
 * It is enough for mutual exclusion always, and for sequential consistency as long as each thread
 * locks once. See ticket-fixed.c for threads that lock again.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 3 /* threads */
#endif

static atomic_int next_ticket;
static atomic_int now_serving;
static int counter; /* protected by the lock */

static int lock(void)
{
    int mine = atomic_fetch_add_explicit(&next_ticket, 1, memory_order_relaxed);

    while (atomic_load_explicit(&now_serving, memory_order_acquire) != mine)
        ;
    return mine;
}

static void unlock(int mine)
{
    atomic_store_explicit(&now_serving, mine + 1, memory_order_release);
}

static void *run(void *arg)
{
    int mine = lock();

    counter++;
    unlock(mine);
    return arg;
}

int main(void)
{
    pthread_t t[N];

    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, run, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    assert(counter == N);
    return 0;
}
