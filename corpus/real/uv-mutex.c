// package: libuv1-dev
// flags: -O2 -luv
// expect: tso=safe pso=safe
// The library is not instrumented; its threads and mutexes are the program's.
#include <assert.h>
#include <uv.h>
static uv_mutex_t mutex;
static int count;
static void run(void *arg) {
  uv_mutex_lock(&mutex);
  count++;
  uv_mutex_unlock(&mutex);
  (void)arg;
}
int main(void) {
  uv_thread_t thread;
  uv_mutex_init(&mutex);
  uv_thread_create(&thread, run, 0);
  run(0);
  uv_thread_join(&thread);
  assert(count == 2);
  uv_mutex_destroy(&mutex);
}
