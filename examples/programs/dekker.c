/* Dekker's mutual exclusion for two threads.
 *
 * Published by E. W. Dijkstra, "Cooperating sequential processes", 1965, who credits T. J. Dekker.
 *
 * Unsafe on tso and on pso.
 *
 * tso: in enter, the load of wants[other] may overtake the store wants[me] = 1, which is still in
 * the store buffer. Both threads do so, both read 0, and both are in the critical section.
 *
 * pso: also in leave, where nothing keeps the three stores in order. If wants[me] = 0 is the first
 * to arrive, the other thread enters and reads a counter without our increment.
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
    while (wants[other]) {
        if (turn != me) {
            wants[me] = 0;
            while (turn != me)
                ;
            wants[me] = 1;
        }
    }
}

static void leave(int me)
{
    turn = 1 - me;
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
