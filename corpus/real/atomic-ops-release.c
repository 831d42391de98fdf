// package: libatomic-ops-dev
// flags: -O2
// expect: tso=fails pso=fails
#include <assert.h>
#include <atomic_ops.h>
#include <pthread.h>
static volatile AO_t x, y;
static AO_t a, b;
static void *run(void *arg) {
  AO_store_release(&x, 1);
  a = AO_load_acquire(&y);
  return arg;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, run, 0);
  AO_store_release(&y, 1);
  b = AO_load_acquire(&x);
  pthread_join(thread, 0);
  assert(a || b);
}
