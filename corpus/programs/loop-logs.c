// expect: error: lines[2]
// Each failed try is written down where another thread reads it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int lines[4], stop;
static void *work(void *arg) {
  pthread_mutex_lock(&lock);
  assert(!atomic_load(&lines[2]));
  atomic_store(&stop, 1);
  pthread_mutex_unlock(&lock);
  return arg;
}
int main(void) {
  pthread_t a;
  pthread_create(&a, 0, work, 0);
  for (int i = 0;;) {
    pthread_mutex_lock(&lock);
    int is = atomic_load(&stop);
    if (!is) atomic_store(&lines[i], 1);
    pthread_mutex_unlock(&lock);
    if (is) break;
    if (i < 3) i++;
  }
  pthread_join(a, 0);
  return 0;
}
