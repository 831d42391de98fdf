// expect: tso=unsafe pso=unsafe
// flags: -mavx2
// Half a vector is stored by a builtin.
#include <immintrin.h>
#include <pthread.h>
static long x, y, seen[2];
static int data[16] __attribute__((aligned(64)));
static void *run(void *arg) {
  _mm_storel_pi((__m64 *)data, _mm_set1_ps(1)); seen[0] = y;
  return arg;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, run, 0);
  y = 1; seen[1] = data[0];
  pthread_join(thread, 0);
  return 0;
}
