// expect: error: atomic_load(&helped) < 3
// Each round does something for others to see.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int helped, stop;
static void *work(void *arg) {
  assert(atomic_load(&helped) < 3);
  atomic_store(&stop, 1);
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, work, 0);
  while (!atomic_load(&stop)) {
    if (atomic_load(&helped) < 3) atomic_fetch_add(&helped, 1);
  }
  pthread_join(a, 0);
  return 0;
}
