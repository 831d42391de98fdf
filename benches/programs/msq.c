/* Michael and Scott's queue: W threads enqueue, R dequeue, RW do both. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
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
static _Atomic(struct node *) head, tail;
static void enqueue(int me, int value)
{
    struct node *n = &pool[me + 1];
    n->value = value;
    atomic_store_explicit(&n->next, NULL, memory_order_relaxed);
    for (;;) {
        struct node *last = atomic_load_explicit(&tail, memory_order_acquire);
        struct node *next = atomic_load_explicit(&last->next, memory_order_acquire);
        if (last != atomic_load_explicit(&tail, memory_order_acquire)) continue;
        if (next != NULL) {
            atomic_compare_exchange_strong_explicit(&tail, &last, next, memory_order_release, memory_order_relaxed);
        } else if (atomic_compare_exchange_strong_explicit(&last->next, &next, n, memory_order_release, memory_order_relaxed)) {
            atomic_compare_exchange_strong_explicit(&tail, &last, n, memory_order_release, memory_order_relaxed);
            return;
        }
    }
}
static int dequeue(int *out)
{
    for (;;) {
        struct node *first = atomic_load_explicit(&head, memory_order_acquire);
        struct node *last = atomic_load_explicit(&tail, memory_order_acquire);
        struct node *next = atomic_load_explicit(&first->next, memory_order_acquire);
        if (first != atomic_load_explicit(&head, memory_order_acquire)) continue;
        if (first == last) {
            if (next == NULL) return 0;
            atomic_compare_exchange_strong_explicit(&tail, &last, next, memory_order_release, memory_order_relaxed);
        } else {
            *out = next->value;
            if (atomic_compare_exchange_strong_explicit(&head, &first, next, memory_order_release, memory_order_relaxed))
                return 1;
        }
    }
}
static void *w(void *a) { enqueue((long)a, 666); return NULL; }
static void *r(void *a) { int v; (void)a; dequeue(&v); return NULL; }
static void *rw(void *a) { int v; enqueue((long)a, 777); dequeue(&v); return NULL; }
int main(void)
{
    pthread_t t[W + R + RW];
    long n = 0;
    atomic_init(&head, &pool[0]);
    atomic_init(&tail, &pool[0]);
    for (int i = 0; i < W; i++, n++) pthread_create(&t[n], NULL, w, (void *)n);
    for (int i = 0; i < R; i++, n++) pthread_create(&t[n], NULL, r, NULL);
    for (int i = 0; i < RW; i++, n++) pthread_create(&t[n], NULL, rw, (void *)n);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
    return 0;
}
