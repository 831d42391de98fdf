// expect: safe
// Fences order relaxed accesses around them.
#include <atomic>
#include <cassert>
#include <thread>
static std::atomic<int> x, y;
int main()
{
    int a = 0, b = 0;
    auto relaxed = std::memory_order_relaxed;
    std::thread one([&] { x.store(1, relaxed); std::atomic_thread_fence(std::memory_order_seq_cst); a = y.load(relaxed); });
    std::thread two([&] { y.store(1, relaxed); std::atomic_thread_fence(std::memory_order_seq_cst); b = x.load(relaxed); });
    one.join();
    two.join();
    assert(a + b > 0);
}
