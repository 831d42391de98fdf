// expect: tso=safe pso=safe c11=safe
// An interlocked operation on the upper half of an object that only one thread accesses as a whole.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
static union { _Atomic(int64_t) all; struct { _Atomic(int32_t) low, high; } half; } u;
static void *t(void *a) {
  u.all = 0;
  atomic_fetch_add(&u.half.high, 1);
  return a;
}
int main(void) {
  pthread_t p;
  pthread_create(&p, 0, t, 0);
  pthread_join(p, 0);
  return u.all != 1LL << 32;
}
