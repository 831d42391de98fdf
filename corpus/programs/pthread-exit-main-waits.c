// expect: error: deadlock
// The process goes on without main, and never ends.
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static void *run(void *arg) {
    pthread_detach(pthread_self());
    pthread_mutex_lock(&m);
    pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return arg;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    pthread_cond_signal(&c);
    pthread_exit(0);
}
