// expect: tso=safe pso=safe
// A round that saw the second store, and then one that does not see the first: only where stores pass each other. The round adds an
// iteration that changes nothing, so this is a violation only with --strict.
#include <pthread.h>
#include <stdatomic.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int one, two;
static void *set(void *arg) {
  atomic_store_explicit(&one, 1, memory_order_relaxed);
  atomic_store_explicit(&two, 1, memory_order_relaxed);
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, set, 0);
  for (;;) {
    pthread_mutex_lock(&lock);
    int first = atomic_load_explicit(&one, memory_order_relaxed);
    (void)atomic_load_explicit(&two, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
    if (first) break;
  }
  pthread_join(a, 0);
  return 0;
}
