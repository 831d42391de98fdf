// expect: tso=safe pso=safe
// A lock whose waiters look, by assembly, at variables of their own that they have set before, not by assembly.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
struct node {
    struct node *next;
    int waits;
};
static struct node *tail;
static int inside;
static struct node *swap(struct node **at, struct node *v)
{
    __asm__ volatile("xchgq %0, %1" : "+r"(v), "+m"(*at) : : "memory");
    return v;
}
static struct node *cas(struct node **at, struct node *old, struct node *new)
{
    __asm__ volatile("lock cmpxchgq %2, %1" : "+a"(old), "+m"(*at) : "r"(new) : "memory", "cc");
    return old;
}
static struct node *next(struct node *n)
{
    struct node *v;
    __asm__ volatile("movq %1, %0" : "=r"(v) : "m"(n->next) : "memory");
    return v;
}
static int waits(struct node *n)
{
    int v;
    __asm__ volatile("movl %1, %0" : "=r"(v) : "m"(n->waits) : "memory");
    return v;
}
static void *run(void *p)
{
    struct node n, *before;
    n.waits = 1;
    n.next = NULL;
    before = swap(&tail, &n);
    if (before) {
        __atomic_store_n(&before->next, &n, __ATOMIC_SEQ_CST);
        while (waits(&n))
            __asm__ volatile("pause");
    }
    assert(!inside++);
    inside--;
    if (!next(&n)) {
        if (cas(&tail, &n, NULL) == &n)
            return p;
        while (!next(&n))
            __asm__ volatile("pause");
    }
    __atomic_store_n(&next(&n)->waits, 0, __ATOMIC_SEQ_CST);
    return p;
}
int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
