/* Treiber's stack: N threads push, M pop. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif
#ifndef M
#define M 2
#endif

struct node { struct node *next; };
static struct node nodes[N];
static _Atomic(struct node *) top;

static void *push(void *node)
{
    struct node *n = node, *old = atomic_load(&top);

    do
        n->next = old;
    while (!atomic_compare_exchange_strong(&top, &old, n));
    return NULL;
}

static void *pop(void *p)
{
    struct node *old;

    do {
        old = atomic_load(&top);
        if (old == NULL)
            return p;
    } while (!atomic_compare_exchange_strong(&top, &old, old->next));
    return NULL;
}

int main(void)
{
    pthread_t threads[N + M];

    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, push, &nodes[i]);
    for (int i = 0; i < M; i++)
        pthread_create(&threads[N + i], NULL, pop, NULL);
    for (int i = 0; i < N + M; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
