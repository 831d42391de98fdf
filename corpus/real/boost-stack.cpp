// package: libboost-dev
// flags: -O2
// expect: tso=safe pso=safe
#include <boost/lockfree/stack.hpp>
#include <cassert>
#include <thread>
boost::lockfree::stack<int, boost::lockfree::capacity<2>> stack;
int main() {
  std::thread pusher([] { assert(stack.push(1)); });
  int item = 0;
  bool popped = stack.pop(item);
  pusher.join();
  assert(!popped || item == 1);
}
