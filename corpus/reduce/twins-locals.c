// expect: safe
// counts: same
// Threads recognise their own thread-local variables.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
atomic_int x;
static __thread int me;
_Atomic(int *) first;
void *f(void *a)
{
    int *e = 0;
    if (atomic_compare_exchange_strong(&first, &e, &me))
        atomic_store(&x, 1);
    else
        assert(e != &me && atomic_load(&x) <= 1);
    return 0;
}
int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, f, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
