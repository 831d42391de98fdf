// expect: error
// Each round allocates on the stack, and what it allocated is a list.
#include <alloca.h>
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x;
struct node { struct node *next; };

static void *waits(void *p)
{
    struct node *list = NULL;

    while (!atomic_load(&x) && (list == NULL || list->next == NULL)) {
        struct node *n = alloca(sizeof *n);

        n->next = list;
        list = n;
    }
    assert(list == NULL);
    return p;
}

static void *writes(void *p)
{
    atomic_store(&x, 1);
    return p;
}

int main(void)
{
    pthread_t a, b;

    pthread_create(&a, NULL, waits, NULL);
    pthread_create(&b, NULL, writes, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
