// expect: error
// More threads than meet: one arrives while a round is being left.
#include <pthread.h>
#include <assert.h>
pthread_barrier_t b;
void *w(void *a)
{
    for (long i = 0; i < (long)a; i++)
        pthread_barrier_wait(&b);
    return 0;
}
int main()
{
    pthread_t t[3];
    pthread_barrier_init(&b, 0, 2);
    pthread_create(&t[0], 0, w, (void *)2);
    pthread_create(&t[1], 0, w, (void *)2);
    pthread_create(&t[2], 0, w, (void *)3);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    assert(!"7 arrivals");
}
