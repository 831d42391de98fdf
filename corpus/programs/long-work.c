// expect: undecided: much work
// It ends, but not soon.
#include <pthread.h>
static volatile int shared;
static unsigned hash(unsigned n) {
  unsigned h = n;
  for (unsigned long i = 0; i < 30000000000ul; i++) h = h * 31 + 7;
  __asm__("" : "+r"(h));
  return h;
}
static void *run(void *arg) {
  shared = 1;
  return arg;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, run, 0);
  shared = hash(shared) == 1;
  pthread_join(thread, 0);
  return 0;
}
