// expect: error: assertion
// flags: -O1
// The copy for the callee may have half of what another thread writes.
#include <assert.h>
#include <pthread.h>
struct Box {
  int left, top, right, bottom, more[6];
};
static struct Box box;
__attribute__((noinline)) static int width(struct Box b) { return b.right - b.left; }
static void *move(void *arg) {
  box.left++;
  box.right++;
  return arg;
}
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, move, 0);
  assert(width(box) == 0);
  pthread_join(thread, 0);
  return 0;
}
