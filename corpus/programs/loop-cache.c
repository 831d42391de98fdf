// expect: tso=safe pso=safe
// classes: 8
// A consumer that keeps the index it read last: as long as nothing comes it writes what is there already.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static struct { atomic_uint tail; unsigned seen; int slots[4]; } queue;
static int front(void) {
  if (queue.seen == 0) {
    queue.seen = atomic_load_explicit(&queue.tail, memory_order_acquire);
    if (queue.seen == 0) return 0;
  }
  return queue.slots[0];
}
static void *push(void *arg) {
  queue.slots[0] = 7;
  atomic_store_explicit(&queue.tail, 1, memory_order_release);
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, push, 0);
  int got;
  while (!(got = front()))
    ;
  assert(got == 7);
  pthread_join(a, 0);
  return 0;
}
