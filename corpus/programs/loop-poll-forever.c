// expect: error: deadlock
// Nobody sets what the loop looks for.
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready, other;
static void *set(void *arg) {
  pthread_mutex_lock(&lock);
  other = 1;
  pthread_mutex_unlock(&lock);
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
