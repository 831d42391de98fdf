// expect: error: deadlock
// Each waits for what the other one would set afterwards.
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int set[2];
static void *run(void *arg) {
  long me = (long)arg;
  for (int is = 0; !is;) {
    pthread_mutex_lock(&lock);
    is = set[!me];
    pthread_mutex_unlock(&lock);
  }
  pthread_mutex_lock(&lock);
  set[me] = 1;
  pthread_mutex_unlock(&lock);
  return 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, run, (void *)0);
  pthread_create(&b, 0, run, (void *)1);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
