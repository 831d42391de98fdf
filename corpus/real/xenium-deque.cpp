// package: libxenium-dev
// flags: -O2 -std=c++17
// expect: tso=safe pso=safe
#include <cassert>
#include <thread>
#include <xenium/chase_work_stealing_deque.hpp>
int main() {
  xenium::chase_work_stealing_deque<int> deque;
  int item, *stolen = nullptr, *popped = nullptr;
  bool pushed = deque.try_push(&item), stole = false, got;
  std::thread other([&] { stole = deque.try_steal(stolen); });
  got = deque.try_pop(popped);
  other.join();
  assert(pushed && stole != got && (stolen == &item) != (popped == &item));
}
