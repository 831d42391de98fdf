// expect: tso=safe pso=unsafe
// Published with a relaxed store: the pointer to the virtual table may come later.
#include <atomic>
#include <thread>
struct Base { virtual ~Base() {} virtual int f() { return 1; } };
struct Derived : Base { int f() override { return 2; } };
static std::atomic<Base *> p;
int main()
{
    std::thread t([] { p.store(new Derived, std::memory_order_relaxed); });
    int r = 0;
    if (Base *b = p.load(std::memory_order_relaxed))
        r = b->f();
    t.join();
    return r == 1;
}
