/* Peterson's mutual exclusion for two threads.
 *
 * Published by G. L. Peterson, "Myths about the mutual exclusion problem", 1981.
 *
 * Unsafe on tso and on pso.
 *
 * tso: in enter, the load of wants[other] may overtake the stores before it. Both threads read 0
 * and enter.
 *
 * pso: also, turn = other may arrive before wants[me] = 1. The other thread then sets turn after
 * us, does not see that we want to enter, and enters; we find it is our turn, and enter too. And
 * in leave wants[me] = 0 may arrive before the counter.
 */
#include <assert.h>
#include <pthread.h>
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
    turn = other;
    while (wants[other] && turn == other)
        ;
}

static void leave(int me)
{
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
