// expect: error
// counts: same
// One thread is waited for, and something asserted before the other is.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
atomic_int x;
pthread_t t[2];
atomic_int turn;
void *f(void *a)
{
    int r = atomic_fetch_add(&x, 1);
    atomic_store(&turn, r);
    return 0;
}
int main(void)
{
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, f, 0);
    pthread_join(t[1], 0);
    assert(atomic_load(&x) == 2);
    pthread_join(t[0], 0);
    return 0;
}
