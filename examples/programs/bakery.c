/* Lamport's bakery: mutual exclusion by numbers, as customers draw them in a shop.
 *
 * Published by L. Lamport, "A new solution of Dijkstra's concurrent programming problem", 1974.
 *
 * Unsafe on tso and on pso.
 *
 * tso: the load of number[other] may overtake the store choosing[me] = 1, so that both threads
 * draw the same number and neither knows that the other is choosing; and the loads of choosing and
 * number in the waiting loops may overtake the store of our own number. Both threads enter.
 *
 * pso: also, choosing[me] = 0 may arrive before our number, and in leave number[me] = 0 before the
 * counter.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#ifndef N
#define N 2 /* critical sections a thread */
#endif

static volatile int choosing[2];
static volatile int number[2];
static volatile int counter; /* protected by the lock */

/* Whether the customer with number n goes before thread me with number mine. */
static int before(int n, int mine, int me)
{
    return n != 0 && (n < mine || (n == mine && me == 1));
}

static void enter(int me)
{
    int other = 1 - me;
    int mine;

    choosing[me] = 1;
    mine = number[other] + 1;
    number[me] = mine;
    choosing[me] = 0;
    while (choosing[other])
        ;
    while (before(number[other], mine, me))
        ;
}

static void leave(int me)
{
    number[me] = 0;
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
