// package: libboost-dev
// flags: -O2
// expect: tso=safe pso=safe
#include <boost/lockfree/spsc_queue.hpp>
#include <cassert>
#include <thread>
boost::lockfree::spsc_queue<int, boost::lockfree::capacity<2>> queue;
int main() {
  std::thread producer([] {
    for (int i = 1; i <= 2; i++) assert(queue.push(i));
  });
  int next = 1, item;
  for (int i = 0; i < 2; i++)
    if (queue.pop(item)) assert(item == next++);
  producer.join();
}
