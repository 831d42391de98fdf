// expect: tso=safe pso=unsafe c11=undecided
// Message passing between two bytes of a word that a third thread reads as a whole.
#include <pthread.h>
#include <stdatomic.h>
static union {
  _Atomic long word;
  _Atomic char byte[8];
} u;
static int seen[2];
static void *run(void *arg) {
  atomic_store_explicit(&u.byte[0], 1, memory_order_relaxed);
  atomic_store_explicit(&u.byte[1], 1, memory_order_relaxed);
  return arg;
}
static void *look(void *arg) {
  return atomic_load_explicit(&u.word, memory_order_relaxed) ? arg : 0;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, run, 0);
  pthread_create(&b, 0, look, 0);
  seen[1] = atomic_load_explicit(&u.byte[1], memory_order_relaxed);
  seen[0] = atomic_load_explicit(&u.byte[0], memory_order_relaxed);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
