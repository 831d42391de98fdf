// expect: tso=safe pso=safe
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int full;
static void *put(void *p)
{
    pthread_mutex_lock(&m);
    full = 1;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, put, 0);
    pthread_mutex_lock(&m);
    if (!full)
        pthread_cond_wait(&c, &m);
    assert(full);
    pthread_mutex_unlock(&m);
    pthread_join(t, 0);
    return 0;
}
