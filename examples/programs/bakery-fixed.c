/* Lamport's bakery: mutual exclusion by numbers, as customers draw them in a shop.
 *
 * Published by L. Lamport, "A new solution of Dijkstra's concurrent programming problem", 1974.
 *
 * Safe on tso and on pso.
 *
 * The fix: a full fence before each look at the other thread, so that it can see what we are doing
 * before we look. For pso the release fences keep our number before choosing[me] = 0 and the
 * counter before number[me] = 0.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
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
    atomic_thread_fence(memory_order_seq_cst);
    mine = number[other] + 1;
    number[me] = mine;
    atomic_thread_fence(memory_order_release);
    choosing[me] = 0;
    atomic_thread_fence(memory_order_seq_cst);
    while (choosing[other])
        ;
    while (before(number[other], mine, me))
        ;
}

static void leave(int me)
{
    atomic_thread_fence(memory_order_release);
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
