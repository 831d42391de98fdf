// package: libtbb-dev
// flags: -O2 -ltbb
// expect: tso=safe pso=safe
#include <cassert>
#include <oneapi/tbb/spin_mutex.h>
#include <thread>
tbb::spin_mutex mutex;
int n;
static void add() {
  tbb::spin_mutex::scoped_lock lock(mutex);
  n++;
}
int main() {
  std::thread other(add);
  add();
  other.join();
  assert(n == 2);
}
