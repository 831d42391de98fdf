// expect: tso=safe pso=safe
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int sum;
static void *add(void *p)
{
    pthread_mutex_lock(&m);
    sum += (int)(long)p;
    pthread_mutex_unlock(&m);
    return p;
}
int main(void)
{
    pthread_t t[4];
    for (long i = 0; i < 4; i++)
        pthread_create(&t[i], 0, add, (void *)(i + 1));
    for (long i = 0; i < 4; i++) {
        void *r;
        pthread_join(t[i], &r);
        assert(r == (void *)(i + 1));
    }
    assert(sum == 10);
    return 0;
}
