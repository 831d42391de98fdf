// expect: tso=safe pso=safe
// What is on a stack may be used by others as long as its thread is there.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
struct work { sem_t done; int x; };
static void *inner(void *arg) {
    struct work *work = arg;
    work->x = 1;
    sem_post(&work->done);
    return 0;
}
static void *outer(void *arg) {
    struct work work = {.x = 0};
    pthread_t t;
    sem_init(&work.done, 0, 0);
    pthread_create(&t, 0, inner, &work);
    sem_wait(&work.done);
    assert(work.x == 1);
    sem_destroy(&work.done);
    pthread_detach(t);
    return arg;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, outer, 0);
    pthread_join(t, 0);
    return 0;
}
