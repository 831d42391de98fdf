// expect: tso=safe pso=safe
// classes: 4
#include <pthread.h>
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int stop;
static void *set(void *arg) {
  pthread_rwlock_wrlock(&lock);
  stop = 1;
  pthread_rwlock_unlock(&lock);
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, set, 0);
  int is;
  do {
    pthread_rwlock_wrlock(&lock);
    is = stop;
    pthread_rwlock_unlock(&lock);
  } while (!is);
  pthread_join(a, 0);
  return 0;
}
