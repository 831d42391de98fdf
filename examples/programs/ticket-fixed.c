/* A ticket lock: draw a ticket, wait until its number is called.
 *
 * Published by D. P. Reed and R. K. Kanodia, "Synchronization with eventcounts and sequencers",
 * 1979; in this form J. M. Mellor-Crummey and M. L. Scott, "Algorithms for scalable
 * synchronization on shared-memory multiprocessors", 1991.
 *
 * Safe on tso and on pso.
 *
 * The fix: unlock is a release store, so that the critical section is in memory before the next
 * number is called. Drawing a ticket is a release too, so that our last unlock is in memory before
 * it.
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
    int mine = atomic_fetch_add_explicit(&next_ticket, 1, memory_order_acq_rel);

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
