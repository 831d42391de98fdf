// expect: tso=unsafe pso=unsafe
// flags: -DSTORE=pthread_setcancelstate(0,&x)
// A function of the library stores where it is told to.
#include <pthread.h>
static int x, y, seen[2];
static void *run(void *arg) {
  STORE;
  seen[0] = y;
  return arg;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, run, 0);
  y = 1;
  seen[1] = x;
  pthread_join(thread, 0);
  return 0;
}
