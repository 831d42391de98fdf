/* Harris's non-blocking list: a set as a sorted list. A node is removed by marking its next
 * pointer, after which nothing can be linked in behind it, and then unlinking it.
 *
 * Published by T. L. Harris, "A pragmatic implementation of non-blocking linked-lists", DISC 2001.
 *
 * Safe on tso and on pso.
 *
 * The fix: the compare-and-swap that links the node in is a release. The fields of new nodes are
 * the only plain stores of the algorithm, so nothing else needs an order.
 */
#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifndef N
#define N 1 /* rounds a thread */
#endif

struct node {
    int key;
    atomic_uintptr_t next; /* odd if this node is marked */
    struct node *made;     /* what the same thread allocated before */
};

static struct node last = {.key = INT_MAX};
static struct node head = {.key = INT_MIN};

static int marked(uintptr_t next)
{
    return next & 1;
}

static struct node *node_at(uintptr_t next)
{
    return (struct node *)(next & ~(uintptr_t)1);
}

static uintptr_t next_of(struct node *n)
{
    return atomic_load_explicit(&n->next, memory_order_relaxed);
}

/* Changes the next pointer of a node that is there already. */
static int redirect(struct node *n, uintptr_t from, uintptr_t to)
{
    return atomic_compare_exchange_strong_explicit(&n->next, &from, to, memory_order_relaxed,
                                                   memory_order_relaxed);
}

/* The first unmarked node whose key is at least key; left is the unmarked one before it. Unlinks
 * the marked ones between them. */
static struct node *search(int key, struct node **left)
{
    for (;;) {
        struct node *n = &head;
        uintptr_t next = next_of(&head);
        uintptr_t left_next = next;

        *left = &head;
        for (;;) {
            n = node_at(next);
            if (n == &last)
                break;
            next = next_of(n);
            if (marked(next))
                continue;
            if (n->key >= key)
                break;
            *left = n;
            left_next = next;
        }
        if (left_next == (uintptr_t)n || redirect(*left, left_next, (uintptr_t)n))
            return n;
    }
}

static int contains(int key)
{
    struct node *left;

    return search(key, &left)->key == key;
}

static int insert(int key, struct node **made)
{
    struct node *n = malloc(sizeof *n);
    struct node *left;

    n->made = *made;
    *made = n;
    n->key = key;
    for (;;) {
        struct node *right = search(key, &left);
        uintptr_t next = (uintptr_t)right;

        if (right->key == key)
            return 0;
        atomic_store_explicit(&n->next, next, memory_order_relaxed);
        if (atomic_compare_exchange_strong_explicit(&left->next, &next, (uintptr_t)n,
                                                    memory_order_release, memory_order_relaxed))
            return 1;
    }
}

static int discard(int key)
{
    struct node *left;

    for (;;) {
        struct node *right = search(key, &left);
        uintptr_t next;

        if (right->key != key)
            return 0;
        next = next_of(right);
        if (!marked(next) && redirect(right, next, next | 1)) {
            if (!redirect(left, (uintptr_t)right, next))
                search(key, &left); /* unlinks it */
            return 1;
        }
    }
}

static int discarded[2]; /* how many keys of the other thread each found */

static void *run(void *arg)
{
    int me = arg != NULL;
    int other = 1 - me;
    struct node *made = NULL;
    int found = 0;

    for (int i = 0; i < N; i++) {
        int inserted = insert(2 * i + me, &made);

        assert(inserted);
        found += discard(2 * i + other);
    }
    discarded[me] = found;
    return made;
}

int main(void)
{
    pthread_t t[2];
    void *made[2];
    int left = 0;

    atomic_store_explicit(&head.next, (uintptr_t)&last, memory_order_relaxed);
    pthread_create(&t[0], NULL, run, NULL);
    pthread_create(&t[1], NULL, run, (void *)1);
    pthread_join(t[0], &made[0]);
    pthread_join(t[1], &made[1]);
    for (int key = 0; key < 2 * N; key++)
        left += contains(key);
    assert(left + discarded[0] + discarded[1] == 2 * N);
    for (int i = 0; i < 2; i++) {
        struct node *n = made[i];

        while (n != NULL) {
            struct node *before = n->made;

            free(n);
            n = before;
        }
    }
    return 0;
}
