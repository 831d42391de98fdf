// expect: tso=safe pso=safe
#include <atomic>
#include <cassert>
#include <string>
#include <thread>
static std::atomic<std::string *> p;
static int data;
int main()
{
    std::thread t([] {
        auto *s = new std::string("a string that lives on the heap, surely");
        data = 42;
        p.store(s, std::memory_order_release);
    });
    if (auto *s = p.load(std::memory_order_acquire))
        assert(*s == "a string that lives on the heap, surely" && data == 42);
    t.join();
    delete p.load();
}
