// expect: error: rounds < 4
// The number of failed tries is what the assertion is about.
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready;
static void *set(void *arg) {
  pthread_mutex_lock(&lock);
  ready = 1;
  pthread_mutex_unlock(&lock);
  return arg;
}
int main(void) {
  pthread_t a;
  int rounds = 0;
  pthread_create(&a, 0, set, 0);
  for (;;) {
    pthread_mutex_lock(&lock);
    int is = ready;
    pthread_mutex_unlock(&lock);
    if (is) break;
    if (rounds < 4) rounds++;
  }
  assert(rounds < 4);
  pthread_join(a, 0);
  return 0;
}
