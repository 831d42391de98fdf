// package: libtbb-dev
// flags: -O2 -ltbb
// expect: tso=safe pso=safe
// The library looks for its allocator with `dlopen` before `main` begins. membar tells it that there is none, and says so.
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
