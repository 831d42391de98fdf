// package: libxenium-dev
// flags: -O2 -std=c++17
// expect: tso=safe pso=safe
#include <cassert>
#include <thread>
#include <xenium/michael_scott_queue.hpp>
#include <xenium/reclamation/hazard_pointer.hpp>
using Reclaimer = xenium::policy::reclaimer<xenium::reclamation::hazard_pointer<>>;
int main() {
  xenium::michael_scott_queue<int, Reclaimer> queue;
  std::thread other([&] { queue.push(5); });
  int value = 0;
  if (queue.try_pop(value))
    assert(value == 5);
  other.join();
}
