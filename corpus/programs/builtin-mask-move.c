// expect: undecided: accesses memory in a way
// Where it stores is in a register that the instruction does not name.
#include <immintrin.h>
#include <pthread.h>
static long y, seen[2];
static char data[16];
static void *run(void *arg) {
  _mm_maskmoveu_si128(_mm_set1_epi8(1), _mm_set1_epi8(-1), data);
  seen[0] = y;
  return arg;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, run, 0);
  y = 1;
  seen[1] = data[0];
  pthread_join(thread, 0);
  return 0;
}
