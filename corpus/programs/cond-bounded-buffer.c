// expect: tso=safe pso=safe
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t full = PTHREAD_COND_INITIALIZER, empty = PTHREAD_COND_INITIALIZER;
static int slot, n;
static void *produce(void *p)
{
    for (int i = 1; i <= 2; i++) {
        pthread_mutex_lock(&m);
        while (n == 1)
            pthread_cond_wait(&full, &m);
        slot = i;
        n = 1;
        pthread_cond_signal(&empty);
        pthread_mutex_unlock(&m);
    }
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, produce, 0);
    for (int i = 1; i <= 2; i++) {
        pthread_mutex_lock(&m);
        while (n == 0)
            pthread_cond_wait(&empty, &m);
        assert(slot == i);
        n = 0;
        pthread_cond_signal(&full);
        pthread_mutex_unlock(&m);
    }
    pthread_join(t, 0);
    return 0;
}
