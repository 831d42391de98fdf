// expect: tso=unsafe pso=unsafe
// A load of a word takes one half from its own buffer and the other from memory, before the store of the first half is seen.
#include <pthread.h>
#include <stdatomic.h>
static union {
  _Atomic unsigned long word;
  _Atomic unsigned half[2];
} u;
static unsigned long seen[2];
static void *run(void *arg) {
  atomic_store_explicit(&u.half[0], 1, memory_order_relaxed);
  seen[0] = atomic_load_explicit(&u.word, memory_order_relaxed);
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, run, 0);
  atomic_store_explicit(&u.half[1], 1, memory_order_relaxed);
  seen[1] = atomic_load_explicit(&u.word, memory_order_relaxed);
  pthread_join(a, 0);
  return 0;
}
