// package: libck-dev
// flags: -O2
// expect: tso=safe pso=safe
#include <assert.h>
#include <ck_stack.h>
#include <pthread.h>
static ck_stack_t stack = CK_STACK_INITIALIZER;
static ck_stack_entry_t entries[3];
static void *pusher(void *a) {
  ck_stack_push_upmc(&stack, &entries[0]);
  return a;
}
int main(void) {
  pthread_t p;
  pthread_create(&p, 0, pusher, 0);
  ck_stack_push_upmc(&stack, &entries[1]);
  ck_stack_entry_t *e = ck_stack_pop_upmc(&stack);
  assert(e == &entries[0] || e == &entries[1]);
  pthread_join(p, 0);
}
