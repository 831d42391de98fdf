// package: libtbb-dev
// flags: -O2 -ltbb
// expect: not safe
// Pages of the queue come from libtbb, which is not instrumented; the queue's own code is in headers, and seen.
#include <cassert>
#include <oneapi/tbb/concurrent_queue.h>
#include <thread>
tbb::concurrent_queue<int> queue;
int main() {
  std::thread producer([] { queue.push(1); });
  int item = 1;
  if (queue.try_pop(item)) assert(item == 1);
  producer.join();
}
