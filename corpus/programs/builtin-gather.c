// expect: undecided: accesses memory in a way
// flags: -mavx2
// Loads from several places at once.
#include <immintrin.h>
#include <pthread.h>
static long x, y, seen[2];
static int data[16] __attribute__((aligned(64)));
static void *run(void *arg) {
  x = 1; _mm_storeu_si128((__m128i *)&seen, _mm_i32gather_epi32(data, _mm_set1_epi32(2), 4));
  return arg;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, run, 0);
  data[2] = 1; seen[1] = x;
  pthread_join(thread, 0);
  return 0;
}
