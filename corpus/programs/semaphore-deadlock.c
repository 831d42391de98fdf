// expect: error: deadlock
#include <pthread.h>
#include <semaphore.h>
static sem_t s;
static void *run(void *p) { sem_wait(&s); return p; }
int main(void)
{
    pthread_t t[2];
    sem_init(&s, 0, 1);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
