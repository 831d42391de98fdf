// expect: error: destroys the condition variable `c`, which T1 waits for
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int go;
static void *run(void *arg) {
    pthread_mutex_lock(&m);
    if (!go) pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return arg;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    pthread_cond_destroy(&c);
    pthread_join(t, 0);
    return 0;
}
