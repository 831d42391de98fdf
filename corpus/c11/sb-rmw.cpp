// expect: unsafe
// A read-modify-write is no fence, as it is on x86.
#include <atomic>
#include <thread>
static std::atomic<int> x, y;
int main()
{
    int a = 0, b = 0;
    std::thread one([&] { x.exchange(1); a = y.load(std::memory_order_relaxed); });
    std::thread two([&] { y.exchange(1); b = x.load(std::memory_order_relaxed); });
    one.join();
    two.join();
    return a + b > 2;
}
