// expect: error: destroys the barrier `b`, at which threads wait
#include <pthread.h>
static pthread_barrier_t b;
static void *run(void *arg) {
    pthread_barrier_wait(&b);
    return arg;
}
int main(void) {
    pthread_t t;
    pthread_barrier_init(&b, 0, 2);
    pthread_create(&t, 0, run, 0);
    pthread_barrier_destroy(&b);
    return 0;
}
