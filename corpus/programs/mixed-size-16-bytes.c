// expect: tso=fails pso=fails
// flags: -mcx16
// Flags in the halves of a word of 16 bytes, which a compare-and-swap sets up as a whole.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
static union { __int128 all; uint64_t half[2]; } u;
static int inside;
static void *enter(void *a) {
  int me = a != 0;
  __atomic_store_n(&u.half[me], 1, __ATOMIC_RELAXED);
#ifdef FENCED
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
  if (__atomic_load_n(&u.half[!me], __ATOMIC_RELAXED) != 1) {
    int before = __atomic_fetch_add(&inside, 1, __ATOMIC_RELAXED);
    assert(before == 0);
    __atomic_fetch_sub(&inside, 1, __ATOMIC_RELAXED);
  }
  return 0;
}
int main(void) {
  pthread_t p;
  __sync_bool_compare_and_swap(&u.all, (__int128)0, (__int128)5 << 64 | 7);
  pthread_create(&p, 0, enter, &p);
  enter(0);
  pthread_join(p, 0);
  assert(u.half[0] == 1 && u.half[1] == 1);
  return 0;
}
