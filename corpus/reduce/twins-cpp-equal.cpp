// expect: safe
// counts: fewer
// Threads of the C++ library with equal arguments.
#include <thread>
#include <atomic>
#include <cassert>
std::atomic<int> x{0};
int main()
{
    auto f = [](int i) { x.fetch_add(i); };
    std::thread a(f, 1), b(f, 1), c(f, 1);
    a.join();
    b.join();
    c.join();
    assert(x == 3);
}
