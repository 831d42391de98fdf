// expect: tso=unsafe pso=unsafe c11=undecided
// A load of two bytes sees the second thread's store to one of them and not the first thread's earlier store to the other.
#include <pthread.h>
#include <stdatomic.h>
static union {
  _Atomic int word;
  _Atomic char byte[4];
} u;
static _Atomic int flag;
static int seen, r;
static void *first(void *arg) {
  atomic_store_explicit(&u.byte[0], 1, memory_order_relaxed);
  r = atomic_load_explicit(&flag, memory_order_relaxed);
  return arg;
}
static void *second(void *arg) {
  atomic_store_explicit(&flag, 1, memory_order_relaxed);
  atomic_store_explicit(&u.byte[1], 1, memory_order_relaxed);
  return arg;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, first, 0);
  pthread_create(&b, 0, second, 0);
  seen = atomic_load_explicit(&u.word, memory_order_relaxed);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return seen & r & 0;
}
