/* The lazy list: a set as a sorted list. Updates lock two neighbours and then check that they
 * still are; a node is marked before it is unlinked; contains takes no lock.
 *
 * Published by S. Heller, M. Herlihy, V. Luchangco, M. Moir, W. N. Scherer and N. Shavit, "A lazy
 * concurrent list-based set algorithm", OPODIS 2005.
 *
 * Safe on tso and on pso.
 *
 * The fix: links and unlocking stores are release stores, so that whoever sees one of them sees
 * all that was stored before it.
 *
 * Every walk through the list begins with a full fence, after which our own updates and unlocks of
 * the last walk are in memory. Without it tso too leaves sequential consistency: a thread that
 * does add(1), contains(2) and one that does add(2), contains(1) may both find nothing.
 */
#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#ifndef N
#define N 1 /* rounds a thread */
#endif

struct node {
    int key;
    _Atomic(struct node *) next;
    atomic_int marked; /* no longer in the set */
    atomic_int locked;
    struct node *made; /* what the same thread allocated before */
};

static struct node last = {.key = INT_MAX};
static struct node head = {.key = INT_MIN, .next = &last};

static void lock(struct node *n)
{
    int unlocked;

    do
        unlocked = 0;
    while (!atomic_compare_exchange_strong(&n->locked, &unlocked, 1));
}

static void unlock(struct node *n)
{
    atomic_store_explicit(&n->locked, 0, memory_order_release);
}

static struct node *next_of(struct node *n)
{
    return atomic_load_explicit(&n->next, memory_order_relaxed);
}

static int marked(struct node *n)
{
    return atomic_load_explicit(&n->marked, memory_order_relaxed);
}

/* The first node whose key is at least key; pred is the one before it. */
static struct node *find(int key, struct node **pred)
{
    struct node *curr;

    atomic_thread_fence(memory_order_seq_cst);
    *pred = &head;
    curr = next_of(&head);
    while (curr->key < key) {
        *pred = curr;
        curr = next_of(curr);
    }
    return curr;
}

/* The same, with both locked. */
static struct node *find_and_lock(int key, struct node **pred)
{
    for (;;) {
        struct node *curr = find(key, pred);

        lock(*pred);
        lock(curr);
        if (!marked(*pred) && !marked(curr) && next_of(*pred) == curr)
            return curr;
        unlock(curr);
        unlock(*pred);
    }
}

static int contains(int key)
{
    struct node *pred;
    struct node *curr = find(key, &pred);

    return curr->key == key && !marked(curr);
}

static int add(int key, struct node **made)
{
    struct node *pred;
    struct node *curr = find_and_lock(key, &pred);
    int added = curr->key != key;

    if (added) {
        struct node *n = malloc(sizeof *n);

        n->made = *made;
        *made = n;
        n->key = key;
        atomic_store_explicit(&n->next, curr, memory_order_relaxed);
        atomic_store_explicit(&n->marked, 0, memory_order_relaxed);
        atomic_store_explicit(&n->locked, 0, memory_order_relaxed);
        atomic_store_explicit(&pred->next, n, memory_order_release);
    }
    unlock(curr);
    unlock(pred);
    return added;
}

static int discard(int key)
{
    struct node *pred;
    struct node *curr = find_and_lock(key, &pred);
    int found = curr->key == key;

    if (found) {
        struct node *next = next_of(curr);

        atomic_store_explicit(&curr->marked, 1, memory_order_relaxed);
        atomic_store_explicit(&pred->next, next, memory_order_release);
    }
    unlock(curr);
    unlock(pred);
    return found;
}

static int discarded[2]; /* how many keys of the other thread each found */

static void *run(void *arg)
{
    int me = arg != NULL;
    int other = 1 - me;
    struct node *made = NULL;
    int found = 0;

    for (int i = 0; i < N; i++) {
        int added = add(2 * i + me, &made);

        assert(added);
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
