// package: libtbb-dev
// flags: -O2 -ltbb
// expect: undecided: calls `dlopen`
// The library looks for its allocator with `dlopen` before `main` begins, which membar does not run.
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
