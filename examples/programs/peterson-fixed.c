/* Peterson's mutual exclusion for two threads.
 *
 * Published by G. L. Peterson, "Myths about the mutual exclusion problem", 1981.
 *
 * Safe on tso and on pso.
 *
 * The fix: a full fence before the loop, so that the thread that is last to set turn sees the
 * other's wants. That is all tso needs. For pso the release fences keep wants before turn and the
 * counter before wants[me] = 0.
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
    atomic_thread_fence(memory_order_release);
    turn = other;
    atomic_thread_fence(memory_order_seq_cst);
    while (wants[other] && turn == other)
        ;
}

static void leave(int me)
{
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
