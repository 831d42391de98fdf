/* Dekker's mutual exclusion for two threads.
 *
 * Published by E. W. Dijkstra, "Cooperating sequential processes", 1965, who credits T. J. Dekker.
 *
 * Safe on tso and on pso.
 *
 * The fix: a full fence between a store and the loads after it. Of two threads that want to enter
 * one comes to its fence last, and then sees that the other one wants to. The fence after
 * wants[me] = 0 is there for the same reason: without it we might find that it is still not our
 * turn, and the other thread, a round later, that we still want to enter.
 *
 * The release fence in leave keeps counter and turn before wants[me] = 0, which lets the other
 * thread in. Only pso needs it.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 2 /* critical sections a thread */
#endif

static volatile int wants[2];
static volatile int turn;
static volatile int counter; /* protected by the lock */

static void enter(int me)
{
    int other = 1 - me;

    wants[me] = 1;
    atomic_thread_fence(memory_order_seq_cst);
    while (wants[other]) {
        if (turn != me) {
            wants[me] = 0;
            atomic_thread_fence(memory_order_seq_cst);
            while (turn != me)
                ;
            wants[me] = 1;
            atomic_thread_fence(memory_order_seq_cst);
        }
    }
}

static void leave(int me)
{
    turn = 1 - me;
    atomic_thread_fence(memory_order_release);
    wants[me] = 0;
}

static void *run(void *arg)
{
    int me = arg != NULL;

    for (int i = 0; i < N; i++) {
        enter(me);
        counter = counter + 1;
        leave(me);
    }
    return NULL;
}

int main(void)
{
    pthread_t a, b;

    pthread_create(&a, NULL, run, NULL);
    pthread_create(&b, NULL, run, (void *)1);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(counter == 2 * N);
    return 0;
}
