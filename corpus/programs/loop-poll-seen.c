// expect: error: times < 3
// Somebody sees the lock held, free, held, free and held again: that takes three rounds of the loop.
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready;
static void *watch(void *arg) {
  int times = 0, was_free = 1;
  for (int i = 0; i < 5; i++) {
    if (pthread_mutex_trylock(&lock) == 0) {
      pthread_mutex_unlock(&lock);
      was_free = 1;
    } else {
      times += was_free;
      was_free = 0;
    }
  }
  assert(times < 3);
  pthread_mutex_lock(&lock);
  ready = 1;
  pthread_mutex_unlock(&lock);
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, watch, 0);
  for (int is = 0; !is;) {
    pthread_mutex_lock(&lock);
    is = ready;
    pthread_mutex_unlock(&lock);
  }
  pthread_join(a, 0);
  return 0;
}
