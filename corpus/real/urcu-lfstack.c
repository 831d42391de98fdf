// package: liburcu-dev
// flags: -O2 -D_LGPL_SOURCE
// expect: tso=safe pso=safe
#include <assert.h>
#include <pthread.h>
#include <urcu/lfstack.h>
static struct cds_lfs_stack stack;
static struct cds_lfs_node nodes[2];
static void *pusher(void *a) {
  cds_lfs_node_init(&nodes[0]);
  cds_lfs_push(&stack, &nodes[0]);
  return a;
}
int main(void) {
  __cds_lfs_init((struct __cds_lfs_stack *)&stack);
  pthread_t p;
  pthread_create(&p, 0, pusher, 0);
  cds_lfs_node_init(&nodes[1]);
  cds_lfs_push(&stack, &nodes[1]);
  struct cds_lfs_node *popped = __cds_lfs_pop(&stack);
  assert(popped == &nodes[0] || popped == &nodes[1]);
  pthread_join(p, 0);
}
