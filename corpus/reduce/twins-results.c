// expect: error
// counts: same
// Results are told apart by who returned them.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
atomic_int x;
void *f(void *a)
{
    return (void *)(long)atomic_fetch_add(&x, 1);
}
int main(void)
{
    pthread_t t[2];
    void *r[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, f, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], &r[i]);
    assert(r[0] < r[1]);
    return 0;
}
