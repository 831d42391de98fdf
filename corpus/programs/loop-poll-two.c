// expect: tso=safe pso=safe
// classes: 40
// Two threads that look under the same mutex, one of them with the lock held from before the loop.
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int stop;
static void *first(void *arg) {
  for (;;) {
    pthread_mutex_lock(&lock);
    int is = stop;
    pthread_mutex_unlock(&lock);
    if (is) return arg;
  }
}
static void *second(void *arg) {
  pthread_mutex_lock(&lock);
  while (!stop) {
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
  }
  pthread_mutex_unlock(&lock);
  return arg;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, first, 0);
  pthread_create(&b, 0, second, 0);
  pthread_mutex_lock(&lock);
  stop = 1;
  pthread_mutex_unlock(&lock);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
