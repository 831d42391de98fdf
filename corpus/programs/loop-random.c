// expect: error: rand() % 8
// What a round does depends on a random number: no two rounds are the same.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int ready;
static void *set(void *arg) {
  atomic_store(&ready, 1);
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, set, 0);
  for (int i = 0; !atomic_load(&ready) && i < 50; i++) assert(rand() % 8 != 5);
  pthread_join(a, 0);
  return 0;
}
