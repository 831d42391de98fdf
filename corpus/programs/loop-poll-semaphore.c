// expect: tso=safe pso=safe
// classes: 20
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
static sem_t two;
static atomic_int stop;
static void *poll(void *arg) {
  for (;;) {
    sem_wait(&two);
    int is = atomic_load(&stop);
    sem_post(&two);
    if (is) return arg;
  }
}
int main(void) {
  pthread_t a;
  sem_init(&two, 0, 2);
  pthread_create(&a, 0, poll, 0);
  sem_wait(&two);
  atomic_store(&stop, 1);
  sem_post(&two);
  pthread_join(a, 0);
  return 0;
}
