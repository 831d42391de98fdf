// expect: tso=safe pso=safe
// Destroyed and initialised again while others are on their way out.
#include <pthread.h>
static pthread_barrier_t b;
static void *run(void *arg) {
    pthread_barrier_wait(&b);
    return arg;
}
int main(void) {
    pthread_t t;
    for (int i = 0; i < 2; i++) {
        pthread_barrier_init(&b, 0, 2);
        pthread_create(&t, 0, run, 0);
        pthread_barrier_wait(&b);
        pthread_barrier_destroy(&b);
        pthread_barrier_init(&b, 0, 1);
        pthread_barrier_wait(&b);
        pthread_barrier_destroy(&b);
        pthread_join(t, 0);
    }
    return 0;
}
