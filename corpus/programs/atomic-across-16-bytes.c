// expect: undecided: across a multiple of 16 bytes
// x86 makes such an access atomic, slowly; membar does not.
#include <pthread.h>
static struct __attribute__((packed, aligned(16))) { char pad[14]; int x; } s;
static void *t(void *a) {
  __sync_fetch_and_add(&s.x, 1);
  return a;
}
int main(void) {
  pthread_t p;
  pthread_create(&p, 0, t, 0);
  __sync_fetch_and_add(&s.x, 1);
  pthread_join(p, 0);
  return s.x != 2;
}
