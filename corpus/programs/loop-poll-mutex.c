// expect: tso=safe pso=safe
// classes: 4
// Looks under a mutex whether there is a result. The accesses of the mutex leave it as it was.
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready, result;
static void *produce(void *arg) {
  pthread_mutex_lock(&lock);
  result = 42;
  ready = 1;
  pthread_mutex_unlock(&lock);
  return arg;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, produce, 0);
  for (;;) {
    pthread_mutex_lock(&lock);
    int is_ready = ready;
    pthread_mutex_unlock(&lock);
    if (is_ready) break;
  }
  assert(result == 42);
  pthread_join(thread, 0);
  return 0;
}
