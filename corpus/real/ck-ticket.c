// package: libck-dev
// flags: -O2
// expect: tso=safe pso=safe
#include <assert.h>
#include <ck_spinlock.h>
#include <pthread.h>
static ck_spinlock_ticket_t lock = CK_SPINLOCK_TICKET_INITIALIZER;
static int n;
static void *add(void *a) {
  ck_spinlock_ticket_lock(&lock);
  n++;
  ck_spinlock_ticket_unlock(&lock);
  return a;
}
int main(void) {
  pthread_t p;
  pthread_create(&p, 0, add, 0);
  add(0);
  pthread_join(p, 0);
  assert(n == 2);
}
