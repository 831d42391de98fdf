// expect: error
// counts: same
// A thread asks the system for its number.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
atomic_int x;
void *f(void *a)
{
    int id = syscall(SYS_gettid);
    int r = atomic_fetch_add(&x, 1);
    if (r == 0)
        assert(id % 2 == 1);
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
