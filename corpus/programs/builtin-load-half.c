// expect: tso=unsafe pso=unsafe
// flags: -mavx2
// Half a vector is loaded by a builtin.
#include <immintrin.h>
#include <pthread.h>
static long x, y, seen[2];
static int data[16] __attribute__((aligned(64)));
static void *run(void *arg) {
  x = 1; _mm_storeu_ps((float *)&seen, _mm_loadh_pi(_mm_setzero_ps(), (__m64 *)(data + 2)));
  return arg;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, run, 0);
  data[2] = 1; seen[1] = x;
  pthread_join(thread, 0);
  return 0;
}
