// expect: tso=safe pso=safe
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
struct node { struct node *next; int v; };
static atomic_int total;
static void *run(void *p)
{
    struct node *list = 0;
    int sum = 0;
    for (int i = 0; i < 1000; i++) {
        struct node *n = malloc(sizeof *n);
        n->v = i;
        n->next = list;
        list = n;
    }
    while (list) {
        struct node *n = list;
        sum += n->v;
        list = n->next;
        free(n);
    }
    total += sum;
    assert(sum == 499500);
    return p;
}

int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
