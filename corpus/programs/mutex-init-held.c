// expect: error: initialises the mutex `m`, which T1 holds since
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x;
static void *run(void *arg) {
    pthread_mutex_lock(&m);
    x++;
    pthread_mutex_unlock(&m);
    return arg;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    pthread_mutex_init(&m, 0);
    pthread_join(t, 0);
    return 0;
}
