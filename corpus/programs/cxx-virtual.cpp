// expect: tso=safe pso=safe
#include <atomic>
#include <cassert>
#include <memory>
#include <thread>
struct Base { virtual ~Base() {} virtual int f() { return 1; } };
struct Mid : virtual Base { int f() override { return 2; } };
struct Other : virtual Base {};
struct Last : Mid, Other { int f() override { return 3; } };
static std::atomic<Base *> p;
int main()
{
    std::thread t([] { p.store(new Last, std::memory_order_release); });
    if (Base *b = p.load(std::memory_order_acquire)) {
        assert(b->f() == 3);
        assert(dynamic_cast<Mid *>(b) && dynamic_cast<Other *>(b));
    }
    t.join();
    delete p.load();
}
