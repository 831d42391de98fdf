// expect: tso=fails pso=fails
// A store of 4 bytes across two neighbouring words is in the buffer while its thread reads the word behind them.
#include <atomic>
#include <cassert>
#include <cstdint>
#include <thread>
alignas(16) static unsigned char bytes[16];
template <class T> static T &at(int place) { return *reinterpret_cast<T *>(bytes + place); }
template <class T> static void store(int place, T value) { __atomic_store_n(&at<T>(place), value, __ATOMIC_RELAXED); }
template <class T> static T load(int place) { return __atomic_load_n(&at<T>(place), __ATOMIC_RELAXED); }
static void fence() {
#ifdef FENCED
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}
int main() {
  std::uint32_t left = 0, right = 0;
  std::thread other([&] {
    store<std::uint64_t>(8, ~0ull);
    fence();
    left = load<std::uint32_t>(0);
  });
  store<std::uint32_t>(6, ~0u);
  store<std::uint32_t>(0, 1);
  fence();
  right = load<std::uint32_t>(12);
  other.join();
  assert(left == 1 || right != 0);
}
