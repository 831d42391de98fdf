// expect: tso=safe pso=safe
// A structure with a mutex is copied while others use the mutex: its first word is then part of a larger location.
#include <assert.h>
#include <pthread.h>
#include <string.h>
static struct { pthread_mutex_t m; int n; } s = { PTHREAD_MUTEX_INITIALIZER, 0 };
static char copy[sizeof s];
static void *t(void *a) {
  pthread_mutex_lock(&s.m);
  int before = s.n++;
  assert(s.n == before + 1);
  pthread_mutex_unlock(&s.m);
  return a;
}
int main(void) {
  pthread_t p, q;
  pthread_create(&p, 0, t, 0);
  pthread_create(&q, 0, t, 0);
  memcpy(copy, &s, sizeof s);
  pthread_join(p, 0);
  pthread_join(q, 0);
  return s.n != 2;
}
