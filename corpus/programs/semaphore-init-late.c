// expect: error: posts to the semaphore `s`, which has not been initialised
#include <pthread.h>
#include <semaphore.h>
static sem_t s;
static void *run(void *arg) {
    sem_post(&s);
    return arg;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    sem_init(&s, 0, 0);
    sem_wait(&s);
    pthread_join(t, 0);
    return 0;
}
