// expect: safe
// counts: fewer
// Threads that create threads, alike in pairs.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
atomic_int x, y;
void *g(void *a)
{
    atomic_fetch_add(&y, 1);
    return 0;
}
void *f(void *a)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, g, 0);
    atomic_fetch_add(&x, 1);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
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
