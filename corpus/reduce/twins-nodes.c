// expect: safe
// counts: same
// Each thread pushes a node of its own.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
struct n {
    struct n *next;
};
_Atomic(struct n *) top;
void *f(void *a)
{
    struct n *x = malloc(sizeof *x);
    struct n *o = atomic_load(&top);
    do {
        x->next = o;
    } while (!atomic_compare_exchange_weak(&top, &o, x));
    return 0;
}
int main(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, f, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return 0;
}
