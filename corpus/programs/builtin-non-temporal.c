// expect: undecided: stores past the caches
// flags: -O1 -msse2
// Such a store may stay behind for longer than others.
#include <immintrin.h>
#include <pthread.h>
static long x, y, seen[2];
static int data[16] __attribute__((aligned(64)));
static void *run(void *arg) {
  _mm_stream_si32(data, 1); seen[0] = y;
  return arg;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, run, 0);
  y = 1; seen[1] = data[0];
  pthread_join(thread, 0);
  return 0;
}
