// expect: tso=safe pso=safe
// flags: -O1
// The fences of store buffering are builtins.
#include <immintrin.h>
#include <pthread.h>
static long x, y, seen[2];
static int data[16] __attribute__((aligned(64)));
static void *run(void *arg) {
  *(volatile long *)&x = 1; _mm_mfence(); seen[0] = *(volatile long *)&y;
  return arg;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, run, 0);
  *(volatile long *)&y = 1; _mm_mfence(); seen[1] = *(volatile long *)&x;
  pthread_join(thread, 0);
  return 0;
}
