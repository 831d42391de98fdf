// expect: error
// counts: same
// A list is sorted by the addresses of its nodes.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#include <stdlib.h>
/* address as a set order: sorted singly-linked list by node address */
struct N {
    struct N *next;
    int v;
};
struct N *head;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
atomic_int x;
void *w(void *a)
{
    struct N *n = malloc(sizeof *n);
    n->v = x++;
    pthread_mutex_lock(&m);
    struct N **p = &head;
    while (*p && *p < n)
        p = &(*p)->next;
    n->next = *p;
    *p = n;
    pthread_mutex_unlock(&m);
    return 0;
}
int main()
{
    pthread_t a, b;
    pthread_create(&a, 0, w, 0);
    pthread_create(&b, 0, w, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(head->v == 0);
}
