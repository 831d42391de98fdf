// expect: error
// calloc writes: the zeroes are not visible to whoever gets the block without order.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct node { int value; };
static _Atomic(struct node *) head;
static void *run(void *arg)
{
    struct node *n = calloc(1, sizeof *n);
    atomic_store_explicit(&head, n, memory_order_relaxed);
    return arg;
}
int main(void)
{
    pthread_t a;
    pthread_create(&a, 0, run, 0);
    struct node *n = atomic_load_explicit(&head, memory_order_relaxed);
    if (n && n->value)
        abort();
    pthread_join(a, 0);
    return 0;
}
