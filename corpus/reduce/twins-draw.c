// expect: error
// counts: fewer
// Threads draw numbers: which thread gets which makes no difference.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
atomic_int next, x;
void *f(void *a)
{
    int id = atomic_fetch_add(&next, 1);
    int r = atomic_fetch_add(&x, 1);
    assert(!(id == 1 && r == 0));
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
