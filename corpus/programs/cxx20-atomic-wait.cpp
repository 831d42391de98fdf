// expect: tso=safe pso=safe
// flags: -std=c++20
#include <atomic>
#include <cassert>
#include <thread>
static std::atomic<int> a;
static std::atomic<long> b;
static std::atomic_flag f;
static int data;
int main()
{
    std::thread t([] {
        data = 1;
        a.store(1);
        a.notify_one();
        b.store(2);
        b.notify_all();
        f.test_and_set();
        f.notify_one();
    });
    a.wait(0);
    assert(data == 1);
    b.wait(0);
    f.wait(false);
    t.join();
}
