// expect: tso=safe pso=safe c11=safe
// Nobody writes the byte that is read: what looks like store buffering of a word is none of its bytes.
#include <pthread.h>
#include <stdatomic.h>
static union {
  _Atomic long word;
  _Atomic char byte[8];
} u;
static _Atomic long y;
static long seen[3];
static void *run(void *arg) {
  atomic_store_explicit(&u.byte[0], 1, memory_order_relaxed);
  seen[0] = atomic_load_explicit(&y, memory_order_relaxed);
  return arg;
}
static void *look(void *arg) {
  seen[1] = atomic_load_explicit(&u.word, memory_order_relaxed);
  return arg;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, run, 0);
  pthread_create(&b, 0, look, 0);
  atomic_store_explicit(&y, 1, memory_order_relaxed);
  seen[2] = atomic_load_explicit(&u.byte[1], memory_order_relaxed);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
