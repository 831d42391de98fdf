/* Treiber's stack: W threads push, R pop, RW do both. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#ifndef W
#define W 0
#endif
#ifndef R
#define R 0
#endif
#ifndef RW
#define RW 0
#endif
struct node { int value; _Atomic(struct node *) next; };
static struct node pool[16];
static _Atomic(struct node *) top;

static void push(int me)
{
    struct node *n = &pool[me];

    n->value = me;
    for (;;) {
        struct node *old = atomic_load_explicit(&top, memory_order_acquire);

        atomic_store_explicit(&n->next, old, memory_order_relaxed);
        if (atomic_compare_exchange_strong_explicit(&top, &old, n, memory_order_release, memory_order_relaxed))
            return;
    }
}

static int pop(void)
{
    for (;;) {
        struct node *old = atomic_load_explicit(&top, memory_order_acquire), *next;

        if (old == NULL)
            return -1;
        next = atomic_load_explicit(&old->next, memory_order_relaxed);
        if (atomic_compare_exchange_strong_explicit(&top, &old, next, memory_order_release, memory_order_relaxed))
            return old->value;
    }
}

static void *w(void *a) { push((long)a); return NULL; }
static void *r(void *a) { pop(); return a; }
static void *rw(void *a) { push((long)a); pop(); return NULL; }

int main(void)
{
    pthread_t t[W + R + RW];
    long n = 0;

    for (int i = 0; i < W; i++, n++)
        pthread_create(&t[n], NULL, w, (void *)n);
    for (int i = 0; i < R; i++, n++)
        pthread_create(&t[n], NULL, r, NULL);
    for (int i = 0; i < RW; i++, n++)
        pthread_create(&t[n], NULL, rw, (void *)n);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    return 0;
}
