// expect: safe
// counts: same
// Threads publish addresses of their own variables.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
_Atomic(int *) p[2];
atomic_int n;
void *f(void *a)
{
    int v = 0;
    int i = atomic_fetch_add(&n, 1);
    atomic_store(&p[i], &v);
    int *o = atomic_load(&p[1 - i]);
    (void)o;
    atomic_store(&p[i], 0);
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
