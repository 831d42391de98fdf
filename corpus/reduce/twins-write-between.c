// expect: error
// counts: same
// Something is written between the creation of one thread and the next.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
atomic_int x;
int d;
void *f(void *a)
{
    if (atomic_fetch_add(&x, 1) == 0)
        assert(d == 1);
    return 0;
}
int main(void)
{
    pthread_t t[2];
    pthread_create(&t[0], 0, f, 0);
    d = 1;
    pthread_create(&t[1], 0, f, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
