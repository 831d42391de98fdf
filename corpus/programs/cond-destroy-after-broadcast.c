// expect: tso=safe pso=safe
// Who has been woken does not wait any more, even if it has not come back yet (POSIX, pthread_cond_destroy).
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t *c;
static int waiting;
static void *run(void *arg) {
    pthread_mutex_lock(&m);
    waiting = 1;
    pthread_cond_wait(c, &m);
    pthread_mutex_unlock(&m);
    return arg;
}
int main(void) {
    pthread_t t;
    c = malloc(sizeof *c);
    pthread_cond_init(c, 0);
    pthread_create(&t, 0, run, 0);
    pthread_mutex_lock(&m);
    if (waiting) {
        pthread_cond_broadcast(c);
        pthread_cond_destroy(c);
        free(c);
        pthread_mutex_unlock(&m);
        pthread_join(t, 0);
        return 0;
    }
    pthread_mutex_unlock(&m);
    _Exit(0);
}
