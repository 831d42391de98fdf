// package: libatomic-ops-dev
// flags: -O2
// expect: tso=safe pso=safe
#include <assert.h>
#include <atomic_ops.h>
#include <pthread.h>
static volatile AO_t x, y;
static AO_t a, b;
static void *run(void *arg) {
  AO_store(&x, 1);
  AO_nop_full();
  a = AO_load(&y);
  return arg;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, run, 0);
  AO_store(&y, 1);
  AO_nop_full();
  b = AO_load(&x);
  pthread_join(thread, 0);
  assert(a || b);
}
