// package: libtbb-dev
// flags: -O2 -ltbb
// expect: tso=safe pso=safe
#include <cassert>
#include <tbb/queuing_mutex.h>
#include <thread>
static tbb::queuing_mutex mutex;
static int count;
int main() {
  auto run = [] {
    tbb::queuing_mutex::scoped_lock lock(mutex);
    count++;
  };
  std::thread other(run);
  run();
  other.join();
  assert(count == 2);
}
