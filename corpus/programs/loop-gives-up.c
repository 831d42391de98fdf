// expect: error: abort
// A bounded spin ends without what it waited for: that is a behaviour of its own.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
static atomic_int ready;
static void *set(void *arg) {
  atomic_store(&ready, 1);
  return arg;
}
static void gave_up(void) { abort(); }
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, set, 0);
  for (int tries = 0; !atomic_load(&ready); tries++)
    if (tries == 40) gave_up();
  pthread_join(a, 0);
  return 0;
}
