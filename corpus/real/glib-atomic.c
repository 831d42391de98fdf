// package: libglib2.0-dev
// flags: -O2
// pkg-config: glib-2.0
// expect: tso=safe pso=safe
// Macros, with compiler built-ins behind them.
#include <assert.h>
#include <glib.h>
#include <pthread.h>
static gint data, ready;
static void *producer(void *a) {
  data = 1;
  g_atomic_int_set(&ready, 1);
  return a;
}
int main(void) {
  pthread_t p;
  pthread_create(&p, 0, producer, 0);
  if (g_atomic_int_get(&ready)) assert(data == 1);
  pthread_join(p, 0);
}
