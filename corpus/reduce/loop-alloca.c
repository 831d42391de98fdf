// expect: error
// Each round allocates on the stack, and what it allocated is a list.
#include <alloca.h>
#include <assert.h>
#include <stddef.h>
#include "wait.h"

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
