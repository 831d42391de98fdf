// expect: tso=safe pso=safe c11=safe
// A compare-exchange of a half that never finds what it expects writes nothing.
#include <pthread.h>
#include <stdatomic.h>
static union {
  _Atomic unsigned word;
  _Atomic unsigned short half[2];
} u;
static unsigned seen[2];
static void *run(void *arg) {
  unsigned short expected = 7;
  atomic_compare_exchange_strong(&u.half[0], &expected, 8);
  seen[0] = atomic_load(&u.half[1]);
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, run, 0);
  atomic_store(&u.half[1], 1);
  seen[1] = atomic_load(&u.word);
  pthread_join(a, 0);
  return 0;
}
