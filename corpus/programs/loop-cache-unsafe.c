// expect: tso=unsafe pso=unsafe
// The first look may overtake the store before the loop, whatever the loop keeps.
#include <pthread.h>
#include <stdatomic.h>
static atomic_int mine, theirs;
static int seen, result;
static void *other(void *arg) {
  atomic_store_explicit(&theirs, 1, memory_order_relaxed);
  result = atomic_load_explicit(&mine, memory_order_relaxed);
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, other, 0);
  atomic_store_explicit(&mine, 1, memory_order_relaxed);
  while (!seen) seen = atomic_load_explicit(&theirs, memory_order_relaxed);
  pthread_join(a, 0);
  return 0;
}
