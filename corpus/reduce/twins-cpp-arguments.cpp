// expect: error
// counts: same
// Threads of the C++ library with different arguments.
#include <thread>
#include <atomic>
#include <cassert>
std::atomic<int> x{0};
int main()
{
    auto f = [](int i) {
        if (x.fetch_add(1) == 0)
            assert(i == 0);
    };
    std::thread a(f, 0), b(f, 1);
    a.join();
    b.join();
}
