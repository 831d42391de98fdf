// package: libck-dev
// flags: -O2
// expect: tso=safe pso=unsafe
#include <assert.h>
#include <ck_spinlock.h>
#include <pthread.h>
static ck_spinlock_fas_t lock = CK_SPINLOCK_FAS_INITIALIZER;
static int n;
static void *add(void *a) {
  ck_spinlock_fas_lock(&lock);
  n++;
  ck_spinlock_fas_unlock(&lock);
  return a;
}
int main(void) {
  pthread_t p;
  pthread_create(&p, 0, add, 0);
  add(0);
  pthread_join(p, 0);
  assert(n == 2);
}
