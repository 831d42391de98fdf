// expect: error: deadlock
// Waits for either of two flags, each of which may be missed.
#include <pthread.h>
#include <stdatomic.h>
static atomic_int a, b;
static void *blink(void *arg) {
  atomic_store(&a, 1);
  atomic_store(&a, 0);
  atomic_store(&b, 1);
  atomic_store(&b, 0);
  return arg;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, blink, 0);
  while (!atomic_load(&a) && !atomic_load(&b))
    ;
  pthread_join(thread, 0);
  return 0;
}
