// expect: tso=safe pso=safe
// classes: 100
// The lock is the program's own: an exchange takes it, a store gives it back.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
static atomic_int held;
static int ready;
static void take(void) {
  while (atomic_exchange(&held, 1)) sched_yield();
}
static void give(void) { atomic_store_explicit(&held, 0, memory_order_release); }
static void *set(void *arg) {
  take();
  ready = 1;
  give();
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, set, 0);
  for (;;) {
    take();
    int is = ready;
    give();
    if (is) break;
  }
  pthread_join(a, 0);
  return 0;
}
