/* A ticket lock: draw a ticket, wait until its number is called.
 *
 * Published by D. P. Reed and R. K. Kanodia, "Synchronization with eventcounts and sequencers",
 * 1979; in this form J. M. Mellor-Crummey and M. L. Scott, "Algorithms for scalable synchronization
 * on shared-memory multiprocessors", 1991.
 *
 * Safe on tso, unsafe on pso, a data race under c11.
 *
 * c11: the number that is called orders nothing. On Arm unlock may call the next number before the
 * counter is stored, and lock may let the critical section read the counter before the number is
 * called. An increment is lost. On x86 stores arrive in order and loads are made in order.
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

    while (atomic_load_explicit(&now_serving, memory_order_relaxed) != mine)
        ;
    return mine;
}

static void unlock(int mine)
{
    atomic_store_explicit(&now_serving, mine + 1, memory_order_relaxed);
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
