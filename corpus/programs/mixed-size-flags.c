// expect: tso=fails pso=fails
// Each thread raises its byte and looks at the word: it finds its own byte in the store buffer, and the other's not yet in memory.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
static union { uint32_t word; uint8_t flag[4]; } u;
static int inside;
static void *enter(void *a) {
  int me = a != 0;
  __atomic_store_n(&u.flag[me], 1, __ATOMIC_RELAXED);
#ifdef FENCED
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
  if (__atomic_load_n(&u.word, __ATOMIC_RELAXED) == 1u << (8 * me)) {
    int before = __atomic_fetch_add(&inside, 1, __ATOMIC_RELAXED);
    assert(before == 0);
    __atomic_fetch_sub(&inside, 1, __ATOMIC_RELAXED);
  }
  return 0;
}
int main(void) {
  pthread_t p;
  pthread_create(&p, 0, enter, &p);
  enter(0);
  pthread_join(p, 0);
  return 0;
}
