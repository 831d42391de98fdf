// expect: safe
// Four threads meet in pairs.
#include <pthread.h>
#include <assert.h>
#include <stdatomic.h>
pthread_barrier_t b;
atomic_int a, p;
void *w(void *q)
{
    a++;
    pthread_barrier_wait(&b);
    int k = ++p;
    assert(a >= ((k + 1) & ~1));
    return 0;
}
int main()
{
    pthread_t t[4];
    pthread_barrier_init(&b, 0, 2);
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], 0, w, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
    return 0;
}
