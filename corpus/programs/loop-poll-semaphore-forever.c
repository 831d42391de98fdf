// expect: error: deadlock
// Both look under a semaphore for what nobody sets.
#include <pthread.h>
#include <semaphore.h>
static sem_t sem;
static int ready;
static void *poll(void *arg) {
  for (int is = 0; !is;) {
    sem_wait(&sem);
    is = ready;
    sem_post(&sem);
  }
  return arg;
}
int main(void) {
  pthread_t a, b;
  sem_init(&sem, 0, 1);
  pthread_create(&a, 0, poll, 0);
  pthread_create(&b, 0, poll, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
