// expect: error: assertion `first`
/* the second thread waits after the first, and may be woken all the same */
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int waiting, first, second;
static void *early(void *p)
{
    pthread_mutex_lock(&m);
    waiting = 1;
    pthread_cond_wait(&c, &m);
    first = 1;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    return p;
}
static void *late(void *p)
{
    pthread_mutex_lock(&m);
    if (waiting) {
        waiting = 2;
        pthread_cond_wait(&c, &m);
        assert(first);
        second = 1;
    }
    pthread_mutex_unlock(&m);
    return p;
}
int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, early, 0);
    pthread_create(&u, 0, late, 0);
    pthread_mutex_lock(&m);
    int both = waiting == 2;
    if (both)
        pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    if (!both)
        return 0;
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
