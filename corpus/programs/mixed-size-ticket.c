// expect: tso=safe pso=safe c11=safe
// A ticket lock whose halves are taken and given back apart, and tried as a whole.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static union {
  _Atomic unsigned whole;
  struct {
    _Atomic unsigned short owner, next;
  };
} lock;
static int inside;
static void *run(void *arg) {
  unsigned short mine = atomic_fetch_add(&lock.next, 1);
  while (atomic_load(&lock.owner) != mine) {
  }
  assert(++inside == 1);
  inside--;
  atomic_store(&lock.owner, mine + 1);
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, run, 0);
  unsigned is = atomic_load(&lock.whole);
  if ((is & 0xffff) == is >> 16 && atomic_compare_exchange_strong(&lock.whole, &is, is + 0x10000)) {
    assert(++inside == 1);
    inside--;
    atomic_store(&lock.owner, (is & 0xffff) + 1);
  }
  pthread_join(a, 0);
  return 0;
}
