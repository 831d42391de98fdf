// expect: tso=safe pso=safe
// flags: -O2
// The count of tries is in a register that a call may change, but assembly is no call. It gives up, so nobody waits for ever.
#include <pthread.h>
static int lock, entered;
static int take(void) {
  for (int i = 0; i < 3; i++) {
    int old = 1;
    __asm__ volatile("xchgl %0, %1" : "+r"(old), "+m"(lock) : : "memory");
    if (!old) return 1;
  }
  return 0;
}
static void *run(void *arg) {
  if (take()) entered = 1;
  return arg;
}
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, run, 0);
  pthread_join(a, 0);
  pthread_create(&b, 0, run, 0);
  pthread_join(b, 0);
  return !entered;
}
