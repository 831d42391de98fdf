// package: libglib2.0-dev
// flags: -O2
// pkg-config: glib-2.0
// expect: undecided: not instrumented
// The queue is compiled into libglib, which is not instrumented.
#include <assert.h>
#include <glib.h>
#include <pthread.h>
static GAsyncQueue *queue;
static int item;
static void *producer(void *a) {
  g_async_queue_push(queue, &item);
  return a;
}
int main(void) {
  queue = g_async_queue_new();
  pthread_t p;
  pthread_create(&p, 0, producer, 0);
  assert(g_async_queue_pop(queue) == &item);
  pthread_join(p, 0);
}
