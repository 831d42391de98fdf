// expect: tso=safe pso=safe
// The loop raises a flag and lowers it again. Who waits for the flag is not waiting for ever.
#include <pthread.h>
#include <stdatomic.h>
static atomic_int flag, stop;
static void *wait(void *arg) {
  while (!atomic_load(&flag))
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
