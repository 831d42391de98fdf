// expect: tso=harmless pso=harmless
// Each thread counts in its own half and looks at both, which may be behind; what it has counted itself it always sees.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
static union { uint64_t both; uint32_t half[2]; } u;
static void *count(void *a) {
  int me = a != 0;
  for (uint32_t i = 1; i <= 2; i++) {
    __atomic_store_n(&u.half[me], i, __ATOMIC_RELAXED);
    uint64_t both = __atomic_load_n(&u.both, __ATOMIC_RELAXED);
    assert((uint32_t)(both >> (32 * me)) == i);
  }
  return 0;
}
int main(void) {
  pthread_t p;
  pthread_create(&p, 0, count, &p);
  count(0);
  pthread_join(p, 0);
  assert(u.both == ((uint64_t)2 << 32 | 2));
  return 0;
}
