// expect: unsafe
// Release and acquire do not keep a store before a load.
#include <atomic>
#include <thread>
static std::atomic<int> x, y;
int main()
{
    int a = 0, b = 0;
    std::thread one([&] { x.store(1, std::memory_order_release); a = y.load(std::memory_order_acquire); });
    std::thread two([&] { y.store(1, std::memory_order_release); b = x.load(std::memory_order_acquire); });
    one.join();
    two.join();
    return a + b > 2;
}
