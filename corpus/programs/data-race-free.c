// expect: tso=safe pso=safe
// Two queues, one lock each, and a hand-over.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
struct node { struct node *next; int v; };
static struct { pthread_mutex_t m; struct node *head; } q[2] = { { PTHREAD_MUTEX_INITIALIZER, 0 }, { PTHREAD_MUTEX_INITIALIZER, 0 } };
static void push(int i, struct node *n)
{
    pthread_mutex_lock(&q[i].m);
    n->next = q[i].head;
    q[i].head = n;
    pthread_mutex_unlock(&q[i].m);
}
static struct node *pop(int i)
{
    pthread_mutex_lock(&q[i].m);
    struct node *n = q[i].head;
    if (n)
        q[i].head = n->next;
    pthread_mutex_unlock(&q[i].m);
    return n;
}
static void *run(void *p)
{
    struct node *n = malloc(sizeof *n);
    n->v = 1;
    push(0, n);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    struct node *n = pop(0);
    if (n) {
        n->v++;
        push(1, n);
    }
    pthread_join(t, 0);
    n = pop(n ? 1 : 0);
    assert(n && n->v >= 1);
    free(n);
    return 0;
}
