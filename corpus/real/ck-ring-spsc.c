// package: libck-dev
// flags: -O2
// expect: tso=safe pso=unsafe
#include <assert.h>
#include <ck_ring.h>
#include <pthread.h>
static ck_ring_t ring;
static ck_ring_buffer_t buffer[4];
static int items[2] = {1, 2};
static void *producer(void *a) {
  for (int i = 0; i < 2; i++) assert(ck_ring_enqueue_spsc(&ring, buffer, &items[i]));
  return a;
}
int main(void) {
  ck_ring_init(&ring, 4);
  pthread_t p;
  pthread_create(&p, 0, producer, 0);
  int next = 1;
  for (int i = 0; i < 2; i++) {
    void *item;
    if (ck_ring_dequeue_spsc(&ring, buffer, &item)) assert(*(int *)item == next++);
  }
  pthread_join(p, 0);
}
