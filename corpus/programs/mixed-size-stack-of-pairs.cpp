// expect: tso=safe pso=safe
// flags: -mcx16
// A stack whose head is a pointer and a count: it is read half by half and changed as a whole.
#include <cassert>
#include <cstdint>
#include <thread>
struct Node { int value; Node *next; };
static union Head { __int128 all; struct { Node *top; std::uint64_t count; }; } head;
static Head look() {
  Head now;
  now.top = __atomic_load_n(&head.top, __ATOMIC_ACQUIRE);
  now.count = __atomic_load_n(&head.count, __ATOMIC_ACQUIRE);
  return now;
}
static void push(Node &node) {
  for (;;) {
    Head now = look(), then;
    node.next = now.top;
    then.top = &node;
    then.count = now.count + 1;
    if (__sync_bool_compare_and_swap(&head.all, now.all, then.all)) return;
  }
}
int main() {
  static Node nodes[2] = {{1, nullptr}, {2, nullptr}};
  std::thread other([] { push(nodes[1]); });
  push(nodes[0]);
  other.join();
  int sum = 0;
  for (Node *node = head.top; node; node = node->next) sum += node->value;
  assert(sum == 3 && head.count == 2);
}
