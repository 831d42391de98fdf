/* Michael and Scott's queue with two locks: one for each end, so that a thread that puts and one
 * that takes do not wait for each other.
 *
 * Published by M. M. Michael and M. L. Scott, "Simple, fast, and practical non-blocking and
 * blocking concurrent queue algorithms", PODC 1996.
 *
 * Safe on tso and on pso.
 *
 * The fix: unlock is a release store, after which all stores of the critical section are in
 * memory.
 *
 * The compare-and-swap that locks is a full barrier (GCC's __sync). So a node's fields are in
 * memory before it is linked in, although dequeue reads them without the lock of enqueue.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#ifndef N
#define N 1 /* rounds a thread */
#endif

struct node {
    int value;
    struct node *volatile next;
};

static volatile int head_lock, tail_lock;
static struct node *volatile head; /* its value has been taken already */
static struct node *volatile tail;

static void lock(volatile int *l)
{
    while (!__sync_bool_compare_and_swap(l, 0, 1))
        ;
}

static void unlock(volatile int *l)
{
    __atomic_store_n(l, 0, __ATOMIC_RELEASE);
}

static struct node *new_node(int value)
{
    struct node *n = malloc(sizeof *n);

    n->value = value;
    n->next = NULL;
    return n;
}

static void enqueue(int value)
{
    struct node *n = new_node(value);

    lock(&tail_lock);
    tail->next = n;
    tail = n;
    unlock(&tail_lock);
}

/* 0 if the queue is empty. */
static int dequeue(void)
{
    struct node *first;
    int value = 0;

    lock(&head_lock);
    first = head->next;
    if (first != NULL) {
        value = first->value;
        head = first;
    }
    unlock(&head_lock);
    return value;
}

static int taken[2]; /* what each thread dequeued, added up */

static void *run(void *arg)
{
    int me = arg != NULL;
    int sum = 0;

    for (int i = 0; i < N; i++) {
        enqueue(1 + me);
        sum += dequeue();
    }
    taken[me] = sum;
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    struct node *first = new_node(0);

    head = first;
    tail = first;
    pthread_create(&a, NULL, run, NULL);
    pthread_create(&b, NULL, run, (void *)1);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(taken[0] + taken[1] == 3 * N);
    assert(dequeue() == 0);
    while (first != NULL) {
        struct node *next = first->next;

        free(first);
        first = next;
    }
    return 0;
}
