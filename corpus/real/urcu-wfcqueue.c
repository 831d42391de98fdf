// package: liburcu-dev
// flags: -O2 -D_LGPL_SOURCE -lurcu-common
// expect: tso=safe pso=safe
// The queue's functions are inline; what the library itself holds is not instrumented.
#include <assert.h>
#include <pthread.h>
#include <urcu/wfcqueue.h>
static struct cds_wfcq_head head;
static struct cds_wfcq_tail tail;
static struct cds_wfcq_node nodes[2];
static void *producer(void *a) {
  for (int i = 0; i < 2; i++) {
    cds_wfcq_node_init(&nodes[i]);
    cds_wfcq_enqueue(&head, &tail, &nodes[i]);
  }
  return a;
}
int main(void) {
  cds_wfcq_init(&head, &tail);
  pthread_t p;
  pthread_create(&p, 0, producer, 0);
  struct cds_wfcq_node *first = __cds_wfcq_dequeue_nonblocking(&head, &tail);
  assert(first == 0 || first == (void *)-1L || first == &nodes[0]);
  pthread_join(p, 0);
}
