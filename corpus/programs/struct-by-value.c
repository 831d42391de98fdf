// expect: tso=unsafe pso=unsafe
// A structure that is passed by value is read from memory before the call.
#include <pthread.h>
struct Pair {
  long first, second;
};
static struct Pair pair;
static long x, seen[2];
__attribute__((noinline)) static long sum(struct Pair p) { return p.first + p.second; }
static void *run(void *arg) {
  x = 1;
  seen[0] = sum(pair);
  return arg;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, run, 0);
  pair.second = 1;
  seen[1] = x;
  pthread_join(thread, 0);
  return 0;
}
