// expect: tso=safe pso=safe c11=safe
// A store to one byte is followed by a load of another, unfenced; the other thread does the same the other way round.
#include <pthread.h>
#include <stdatomic.h>
static union {
  _Atomic long word;
  _Atomic char byte[8];
} u;
static int seen[2];
static void *run(void *arg) {
  atomic_store_explicit(&u.byte[0], 1, memory_order_relaxed);
  seen[0] = atomic_load_explicit(&u.byte[1], memory_order_relaxed);
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, run, 0);
  seen[1] = (int)atomic_load_explicit(&u.word, memory_order_relaxed);
  atomic_store_explicit(&u.byte[1], 1, memory_order_relaxed);
  pthread_join(a, 0);
  return 0;
}
