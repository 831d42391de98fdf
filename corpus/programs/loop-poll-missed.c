// expect: error: deadlock
// The value is there for a while and gone again: a loop that looks too late waits for ever.
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready;
static void put(int value) {
  pthread_mutex_lock(&lock);
  ready = value;
  pthread_mutex_unlock(&lock);
}
static void *set(void *arg) {
  put(1);
  put(0);
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, set, 0);
  for (int is = 0; !is;) {
    pthread_mutex_lock(&lock);
    is = ready;
    pthread_mutex_unlock(&lock);
  }
  pthread_join(a, 0);
  return 0;
}
