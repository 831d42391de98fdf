// expect: tso=safe pso=safe
// classes: 30
// Looks if it can have the lock at once, and comes back later if not.
#include <pthread.h>
#include <sched.h>
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
  for (int is = 0; !is;) {
    if (pthread_mutex_trylock(&lock)) {
      sched_yield();
      continue;
    }
    is = ready;
    pthread_mutex_unlock(&lock);
  }
  pthread_join(a, 0);
  return 0;
}
