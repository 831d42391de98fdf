// expect: error
// A wait that takes what was there before is not ordered after a post.
#include <pthread.h>
#include <semaphore.h>
static sem_t s;
int data;
static void *run(void *arg) { (void)arg; data = 1; sem_post(&s); return 0; }
int main(void)
{
    pthread_t a;
    sem_init(&s, 0, 1);
    pthread_create(&a, 0, run, 0);
    sem_wait(&s);
    int seen = data;
    pthread_join(a, 0);
    return seen == 2;
}
