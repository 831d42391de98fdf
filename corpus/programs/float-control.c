// expect: tso=safe pso=safe
// flags: -lm -frounding-math
// Rounding and raised exceptions are a thread's own, and inherited.
#include <assert.h>
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static void *up(void *a) {
  assert(fegetround() == FE_TONEAREST);
  fesetround(FE_UPWARD);
  atomic_fetch_add(&x, 1);
  assert(fegetround() == FE_UPWARD);
  volatile double third = 1.0, three = 3.0;
  third = third / three;
  atomic_fetch_add(&x, 1);
  assert(third * 3.0 > 1.0 && fetestexcept(FE_INEXACT));
  return a;
}
static void *child(void *a) {
  assert(fegetround() == FE_DOWNWARD && !fetestexcept(FE_DIVBYZERO));
  return a;
}
static void *down(void *a) {
  fesetround(FE_DOWNWARD);
  atomic_fetch_add(&x, 1);
  pthread_t c;
  pthread_create(&c, 0, child, 0);
  volatile double one = 1.0, zero = 0.0;
  one = one / zero;
  assert(fetestexcept(FE_DIVBYZERO));
  pthread_join(c, 0);
  assert(fegetround() == FE_DOWNWARD);
  return a;
}
int main(void) {
  pthread_t p, q;
  pthread_create(&p, 0, up, 0);
  pthread_create(&q, 0, down, 0);
  atomic_fetch_add(&x, 1);
  assert(fegetround() == FE_TONEAREST && !fetestexcept(FE_DIVBYZERO));
  pthread_join(p, 0);
  pthread_join(q, 0);
}
