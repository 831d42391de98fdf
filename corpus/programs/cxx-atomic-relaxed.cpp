// expect: tso=unsafe pso=unsafe
#include <atomic>
#include <thread>
static std::atomic<int> x, y;
int main()
{
    int a, b;
    std::thread t([&] { x.store(1, std::memory_order_relaxed); a = y.load(std::memory_order_relaxed); });
    std::thread u([&] { y.store(1, std::memory_order_relaxed); b = x.load(std::memory_order_relaxed); });
    t.join();
    u.join();
}
