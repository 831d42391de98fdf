// expect: tso=safe pso=safe
// The last one to come destroys the barrier while the others are on their way out.
#include <pthread.h>
#include <stdlib.h>
static pthread_barrier_t *b;
static void meet(void) {
    if (pthread_barrier_wait(b) == PTHREAD_BARRIER_SERIAL_THREAD) {
        pthread_barrier_destroy(b);
        free(b);
    }
}
static void *run(void *arg) {
    meet();
    return arg;
}
int main(void) {
    pthread_t t;
    b = malloc(sizeof *b);
    pthread_barrier_init(b, 0, 2);
    pthread_create(&t, 0, run, 0);
    meet();
    pthread_join(t, 0);
    return 0;
}
