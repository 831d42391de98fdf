// expect: tso=safe pso=safe
#include <pthread.h>
#include <semaphore.h>
#include <assert.h>
static sem_t done;
static int result;
static void *run(void *p) { result = 5; sem_post(&done); return p; }
int main(void)
{
    pthread_t t[2];
    pthread_attr_t attr;
    sem_init(&done, 0, 0);
    pthread_create(&t[0], 0, run, 0);
    pthread_detach(t[0]);
    sem_wait(&done);
    assert(result == 5);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_create(&t[1], &attr, run, 0);
    pthread_attr_destroy(&attr);
    sem_wait(&done);
    assert(result == 5);
    return 0;
}
