// expect: error: deadlock
// Both look under the same mutex for what nobody sets.
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready;
static void *poll(void *arg) {
  for (;;) {
    pthread_mutex_lock(&lock);
    int is = ready;
    pthread_mutex_unlock(&lock);
    if (is) return arg;
  }
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, poll, 0);
  pthread_create(&b, 0, poll, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return ready > 1;
}
