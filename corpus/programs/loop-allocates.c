// expect: error: !kept[2]
// Each round allocates, and keeps what it got.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int ready;
static int *kept[4];
static void *set(void *arg) {
  atomic_store(&ready, 1);
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, set, 0);
  for (int i = 0; !atomic_load(&ready);) {
    free(kept[i]);
    kept[i] = malloc(sizeof(int));
    if (i < 3) i++;
  }
  assert(!kept[2]);
  pthread_join(a, 0);
  return 0;
}
