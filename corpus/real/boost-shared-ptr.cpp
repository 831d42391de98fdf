// package: libboost-dev
// flags: -O2
// expect: tso=safe pso=safe
#include <boost/make_shared.hpp>
#include <boost/shared_ptr.hpp>
#include <boost/weak_ptr.hpp>
#include <cassert>
#include <thread>
int main() {
  auto strong = boost::make_shared<int>(5);
  boost::weak_ptr<int> weak = strong;
  std::thread other([&] {
    if (auto locked = weak.lock())
      assert(*locked == 5);
  });
  strong.reset();
  other.join();
}
