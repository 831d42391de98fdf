// expect: safe
// The default order.
#include <atomic>
#include <cassert>
#include <thread>
static std::atomic<int> x, y;
int main()
{
    int a = 0, b = 0;
    std::thread one([&] { x = 1; a = y; }), two([&] { y = 1; b = x; });
    one.join();
    two.join();
    assert(a + b > 0);
}
