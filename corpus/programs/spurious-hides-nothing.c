// expect: error: deadlock
// driver: --assume spurious-wakeups
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static void *put(void *p)
{
    /* comes too early, perhaps */
    pthread_cond_signal(&c);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, put, 0);
    pthread_mutex_lock(&m);
    pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    pthread_join(t, 0);
    return 0;
}
