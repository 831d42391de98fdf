// expect: error: assertion
// An execution in which a thread goes round for ever still shows what another one does.
#include <assert.h>
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
  pthread_t thread;
  sem_init(&sem, 0, 1);
  pthread_create(&thread, 0, poll, 0);
  assert(ready);
  return 0;
}
