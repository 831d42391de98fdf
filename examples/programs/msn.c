/* Michael and Scott's non-blocking queue.
 *
 * Published by M. M. Michael and M. L. Scott, "Simple, fast, and practical non-blocking and
 * blocking concurrent queue algorithms", PODC 1996. Their pointers have counters because nodes are
 * used again; here no node is, so plain pointers do.
 *
 * Safe on tso, unsafe on pso.
 *
 * pso: in enqueue, the compare-and-swap that links the node in may take effect before the stores
 * to its fields, which are still in their buffers. Another thread finds the node and reads
 * whatever was in the memory: a wrong value, or a wild pointer. On tso a compare-and-swap waits
 * until the store buffer is empty.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#ifndef N
#define N 1 /* rounds a thread */
#endif

struct node {
    int value;
    _Atomic(struct node *) next;
};

static _Atomic(struct node *) head; /* its value has been taken already */
static _Atomic(struct node *) tail; /* the last node, or one before it */

static struct node *new_node(int value)
{
    struct node *n = malloc(sizeof *n);

    n->value = value;
    atomic_store_explicit(&n->next, NULL, memory_order_relaxed);
    return n;
}

/* Moves an end of the queue, unless another thread has. */
static int move(_Atomic(struct node *) *end, struct node *from, struct node *to)
{
    return atomic_compare_exchange_strong_explicit(end, &from, to, memory_order_relaxed,
                                                   memory_order_relaxed);
}

static void enqueue(int value)
{
    struct node *n = new_node(value);

    for (;;) {
        struct node *last = atomic_load_explicit(&tail, memory_order_relaxed);
        struct node *next = atomic_load_explicit(&last->next, memory_order_relaxed);

        if (next != NULL) {
            move(&tail, last, next); /* help the thread that linked it in */
        } else if (atomic_compare_exchange_strong_explicit(&last->next, &next, n,
                                                           memory_order_relaxed,
                                                           memory_order_relaxed)) {
            move(&tail, last, n);
            return;
        }
    }
}

/* 0 if the queue is empty. */
static int dequeue(void)
{
    for (;;) {
        struct node *first = atomic_load_explicit(&head, memory_order_relaxed);
        struct node *last = atomic_load_explicit(&tail, memory_order_relaxed);
        struct node *next = atomic_load_explicit(&first->next, memory_order_relaxed);

        if (next == NULL)
            return 0;
        if (first == last) {
            move(&tail, last, next);
        } else {
            int value = next->value;

            if (move(&head, first, next))
                return value;
        }
    }
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

    atomic_store_explicit(&head, first, memory_order_relaxed);
    atomic_store_explicit(&tail, first, memory_order_relaxed);
    pthread_create(&a, NULL, run, NULL);
    pthread_create(&b, NULL, run, (void *)1);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(taken[0] + taken[1] == 3 * N);
    assert(dequeue() == 0);
    while (first != NULL) {
        struct node *next = atomic_load_explicit(&first->next, memory_order_relaxed);

        free(first);
        first = next;
    }
    return 0;
}
