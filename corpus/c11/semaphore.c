// expect: safe
// A post is visible to whoever waits for it.
#include <pthread.h>
#include <semaphore.h>
static sem_t s;
static int data;
static void *run(void *arg) { (void)arg; data = 1; sem_post(&s); return 0; }
int main(void)
{
    pthread_t a;
    sem_init(&s, 0, 0);
    pthread_create(&a, 0, run, 0);
    sem_wait(&s);
    int result = data != 1;
    pthread_join(a, 0);
    return result;
}
