// expect: error: deadlock
// The lock is given back only by a round that has found something.
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready;
static void *set(void *arg) {
  pthread_mutex_lock(&lock);
  ready = 1;
  pthread_mutex_unlock(&lock);
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, set, 0);
  while (pthread_mutex_trylock(&lock) || !ready)
    ;
  pthread_mutex_unlock(&lock);
  pthread_join(a, 0);
  return 0;
}
