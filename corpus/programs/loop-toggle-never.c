// expect: error: deadlock
// The flag is raised and lowered for ever, but the other one waits for something else.
#include <pthread.h>
#include <stdatomic.h>
static atomic_int flag, stop;
atomic_int other;
static void *wait(void *arg) {
  while (!atomic_load(&other))
    ;
  atomic_store(&stop, 1);
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, wait, 0);
  while (!atomic_load(&stop)) {
    atomic_exchange(&flag, 1);
    atomic_exchange(&flag, 0);
  }
  pthread_join(a, 0);
  return 0;
}
