/* Snark: a double-ended queue for machines that can compare and swap two words at once.
 *
 * Published by D. L. Detlefs, C. H. Flood, A. T. Garthwaite, P. A. Martin, N. N. Shavit and G. L.
 * Steele, "Even better DCAS-based concurrent deques", DISC 2000. As no machine has the
 * instruction, it is made here from a lock; only the instruction takes the lock, the loads of the
 * algorithm do not.
 *
 * Snark is known to be wrong even under sequential consistency: S. Doherty and others, "DCAS is
 * not a silver bullet for nonblocking algorithm design", SPAA 2004. The threads below, which push
 * before they pop, do not meet the two errors described there.
 *
 * Safe on tso and on pso.
 *
 * The fix: in dcas, the second word and the lock are written by release stores, so that the three
 * arrive in order.
 *
 * The compare-and-swap that locks is sequentially consistent, so a node's fields are in memory
 * before dcas links it in. The stores that the paper has after a pop, which only help the garbage
 * collector, are left out: they are not under the lock.
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
    _Atomic(struct node *) left, right; /* itself, where the node has been popped from that end */
    int value;
    struct node *made; /* what the same thread allocated before */
};

typedef _Atomic(struct node *) word;

static struct node dummy = {.left = &dummy, .right = &dummy};
static word left_hat = &dummy, right_hat = &dummy;
static atomic_int locked;

static struct node *get(word *w)
{
    return atomic_load_explicit(w, memory_order_relaxed);
}

static int dcas(word *a, word *b, struct node *old_a, struct node *old_b, struct node *new_a,
                struct node *new_b)
{
    int unlocked;
    int same;

    do
        unlocked = 0;
    while (!atomic_compare_exchange_strong(&locked, &unlocked, 1));
    same = get(a) == old_a && get(b) == old_b;
    if (same) {
        atomic_store_explicit(a, new_a, memory_order_relaxed);
        atomic_store_explicit(b, new_b, memory_order_release);
    }
    atomic_store_explicit(&locked, 0, memory_order_release);
    return same;
}

static struct node *new_node(int value, struct node **made)
{
    struct node *n = malloc(sizeof *n);

    n->value = value;
    n->made = *made;
    *made = n;
    return n;
}

static void push_right(int value, struct node **made)
{
    struct node *n = new_node(value, made);

    atomic_store_explicit(&n->right, &dummy, memory_order_relaxed);
    for (;;) {
        struct node *r = get(&right_hat);
        struct node *next = get(&r->right);

        if (next == r) { /* empty */
            struct node *l = get(&left_hat);

            atomic_store_explicit(&n->left, &dummy, memory_order_relaxed);
            if (dcas(&right_hat, &left_hat, r, l, n, n))
                return;
        } else {
            atomic_store_explicit(&n->left, r, memory_order_relaxed);
            if (dcas(&right_hat, &r->right, r, next, n, n))
                return;
        }
    }
}

static void push_left(int value, struct node **made)
{
    struct node *n = new_node(value, made);

    atomic_store_explicit(&n->left, &dummy, memory_order_relaxed);
    for (;;) {
        struct node *l = get(&left_hat);
        struct node *next = get(&l->left);

        if (next == l) { /* empty */
            struct node *r = get(&right_hat);

            atomic_store_explicit(&n->right, &dummy, memory_order_relaxed);
            if (dcas(&left_hat, &right_hat, l, r, n, n))
                return;
        } else {
            atomic_store_explicit(&n->right, l, memory_order_relaxed);
            if (dcas(&left_hat, &l->left, l, next, n, n))
                return;
        }
    }
}

/* 0 if the queue is empty. */
static int pop_right(void)
{
    for (;;) {
        struct node *r = get(&right_hat);
        struct node *l = get(&left_hat);

        if (get(&r->right) == r)
            return 0;
        if (r == l) { /* the only one */
            if (dcas(&right_hat, &left_hat, r, l, &dummy, &dummy))
                return r->value;
        } else {
            struct node *next = get(&r->left);

            if (dcas(&right_hat, &r->left, r, next, next, r))
                return r->value;
        }
    }
}

/* 0 if the queue is empty. */
static int pop_left(void)
{
    for (;;) {
        struct node *l = get(&left_hat);
        struct node *r = get(&right_hat);

        if (get(&l->left) == l)
            return 0;
        if (l == r) { /* the only one */
            if (dcas(&left_hat, &right_hat, l, r, &dummy, &dummy))
                return l->value;
        } else {
            struct node *next = get(&l->right);

            if (dcas(&left_hat, &l->right, l, next, next, l))
                return l->value;
        }
    }
}

static int taken[2]; /* what each thread popped, added up */

static void *run_right(void *arg)
{
    struct node *made = arg;
    int sum = 0;

    for (int i = 0; i < N; i++) {
        push_right(1, &made);
        sum += pop_right();
    }
    taken[0] = sum;
    return made;
}

static void *run_left(void *arg)
{
    struct node *made = arg;
    int sum = 0;

    for (int i = 0; i < N; i++) {
        push_left(2, &made);
        sum += pop_left();
    }
    taken[1] = sum;
    return made;
}

int main(void)
{
    pthread_t t[2];
    void *made[2];

    pthread_create(&t[0], NULL, run_right, NULL);
    pthread_create(&t[1], NULL, run_left, NULL);
    pthread_join(t[0], &made[0]);
    pthread_join(t[1], &made[1]);
    assert(taken[0] + taken[1] == 3 * N);
    assert(pop_right() == 0);
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
