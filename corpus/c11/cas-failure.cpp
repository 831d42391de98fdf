// expect: error
// A compare-exchange that fails has its other order, which does not acquire.
#include <atomic>
#include <thread>
static std::atomic<int> flag;
static int data;
int main()
{
    int seen = 0;
    std::thread one([] { data = 1; flag.store(1, std::memory_order_release); });
    std::thread two([&] {
        int expected = 5;
        flag.compare_exchange_strong(expected, 6, std::memory_order_acquire, std::memory_order_relaxed);
        if (expected == 1)
            seen = data;
    });
    one.join();
    two.join();
    return seen > 1;
}
