// expect: error
// counts: same
// A thread asks who it is, and does something else if it is the second.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
atomic_int x;
pthread_t second;
void *f(void *a)
{
    int r = atomic_fetch_add(&x, 1);
    if (r == 0 && pthread_self() == second)
        assert(!"second first");
    return 0;
}
int main(void)
{
    pthread_t a;
    pthread_create(&a, 0, f, 0);
    pthread_create(&second, 0, f, 0);
    pthread_join(a, 0);
    pthread_join(second, 0);
    return 0;
}
