// expect: tso=unsafe pso=unsafe
// Store buffering through a plain store of 4 bytes that lies across two atomic halves.
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
static union {
  _Atomic unsigned long word;
  _Atomic unsigned half[2];
  char bytes[8];
} u;
static _Atomic int y;
static long seen[2];
static void *run(void *arg) {
  *(volatile unsigned *)(u.bytes + 2) = 0x01010101;
  seen[0] = atomic_load_explicit(&y, memory_order_relaxed);
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, run, 0);
  atomic_store_explicit(&y, 1, memory_order_relaxed);
  seen[1] = atomic_load_explicit(&u.half[1], memory_order_relaxed);
  pthread_join(a, 0);
  return atomic_load(&u.word) == 5;
}
