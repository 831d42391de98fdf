// expect: error: which has been destroyed by main
// T1 may come to the mutex when it is no more.
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *run(void *arg) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    return arg;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    pthread_mutex_destroy(&m);
    pthread_join(t, 0);
    return 0;
}
