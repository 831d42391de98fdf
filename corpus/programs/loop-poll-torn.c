// expect: error: second && !first
// What is looked at is not written under the lock: one round may see the first as it was and the second as it is.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int one, two;
static void *set(void *arg) {
  atomic_store(&one, 1);
  atomic_store(&two, 1);
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, set, 0);
  for (;;) {
    pthread_mutex_lock(&lock);
    int first = atomic_load(&one), second = atomic_load(&two);
    pthread_mutex_unlock(&lock);
    assert(!(second && !first));
    if (second) break;
  }
  pthread_join(a, 0);
  return 0;
}
