// expect: tso=safe pso=safe
// A thread waits for what a pointer points to, and the pointer changes: the loop waits for something else then.
#include <pthread.h>
#include <stdatomic.h>
static atomic_int a, b = 1;
static _Atomic(atomic_int *) head = &a;
static void *run(void *p)
{
    while (atomic_load(atomic_load(&head)) == 0)
        ;
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    atomic_store(&head, &b);
    pthread_join(t, 0);
    return 0;
}
