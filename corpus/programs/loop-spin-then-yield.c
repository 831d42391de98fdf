// expect: tso=safe pso=safe
// classes: 250
// Counts its tries, and begins again at a hundred.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
static atomic_int ready;
static void *wait(void *arg) {
  int tries = 0;
  while (!atomic_load(&ready))
    if (++tries == 100) {
      tries = 0;
      sched_yield();
    }
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, wait, 0);
  atomic_store(&ready, 1);
  pthread_join(a, 0);
  return 0;
}
