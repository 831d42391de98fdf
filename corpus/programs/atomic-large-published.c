// expect: tso=safe pso=unsafe
// What is written before an atomic object of 24 bytes is published may come after that, whoever reads it with a lock.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
struct three { long a, b, c; };
struct node { _Atomic struct three s; };
static _Atomic(struct node *) head;
static void *run(void *p)
{
    struct node *node = malloc(sizeof *node);
    struct three value = {1, 2, 3};
    memcpy((void *)&node->s, &value, sizeof value);
    atomic_store_explicit(&head, node, memory_order_relaxed);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    struct node *node = atomic_load_explicit(&head, memory_order_relaxed);
    if (node) {
        struct three value = atomic_load(&node->s);
        (void)value;
    }
    pthread_join(t, 0);
    return 0;
}
