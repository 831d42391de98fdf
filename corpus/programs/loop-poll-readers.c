// expect: tso=safe pso=safe
// classes: 100
// Two readers may hold the lock at a time: what each finds in it then is not the same in every round, and does not matter.
#include <pthread.h>
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int stop;
static void *poll(void *arg) {
  for (;;) {
    pthread_rwlock_rdlock(&lock);
    int is = stop;
    pthread_rwlock_unlock(&lock);
    if (is) return arg;
  }
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, poll, 0);
  pthread_create(&b, 0, poll, 0);
  pthread_rwlock_wrlock(&lock);
  stop = 1;
  pthread_rwlock_unlock(&lock);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
