// expect: error
// counts: same
// The second thread is waited for, and not yet the first.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
atomic_int x, y;
void *f(void *a)
{
    atomic_fetch_add(&x, 1);
    return 0;
}
void *g(void *a)
{
    if (atomic_load(&y))
        assert(atomic_load(&x) == 2);
    return 0;
}
int main(void)
{
    pthread_t t[2], u;
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, f, 0);
    pthread_create(&u, 0, g, 0);
    pthread_join(t[1], 0);
    atomic_store(&y, 1);
    pthread_join(t[0], 0);
    pthread_join(u, 0);
    return 0;
}
