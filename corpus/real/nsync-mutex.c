// package: libnsync-dev
// flags: -O2 -lnsync
// expect: undecided: `nsync_mu_lock` of libnsync.so.1 is not instrumented, and touches `mutex`
#include <assert.h>
#include <nsync.h>
#include <pthread.h>
static nsync_mu mutex = NSYNC_MU_INIT;
static int count;
static void *run(void *arg) {
  nsync_mu_lock(&mutex);
  count++;
  nsync_mu_unlock(&mutex);
  return arg;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, run, 0);
  run(0);
  pthread_join(thread, 0);
  assert(count == 2);
}
