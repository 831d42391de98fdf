// expect: error: on the stack of T1, which has ended
#include <pthread.h>
#include <stdatomic.h>
static _Atomic(pthread_mutex_t *) p;
static void *lends(void *arg) {
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    p = &m;
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    return arg;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, lends, 0);
    pthread_mutex_t *m = p;
    if (m) {
        pthread_mutex_lock(m);
        pthread_mutex_unlock(m);
    }
    pthread_join(t, 0);
    return 0;
}
