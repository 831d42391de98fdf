// expect: error: deadlock
// In one order of the two, the flag is never set.
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int asked, answered, more;
static int look(int *at) {
  pthread_mutex_lock(&lock);
  int is = *at;
  pthread_mutex_unlock(&lock);
  return is;
}
static void set(int *at) {
  pthread_mutex_lock(&lock);
  *at = 1;
  pthread_mutex_unlock(&lock);
}
static void *ask(void *arg) {
  set(&asked);
  while (!look(&answered)) {
  }
  return arg;
}
static void *answer(void *arg) {
  if (!look(&asked)) set(&answered);
  else
    while (!look(&more)) {
    }
  return arg;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, ask, 0);
  pthread_create(&b, 0, answer, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
