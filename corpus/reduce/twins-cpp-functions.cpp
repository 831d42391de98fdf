// expect: error
// counts: same
// Threads of the C++ library that run different functions.
#include <thread>
#include <atomic>
#include <cassert>
std::atomic<int> x{0};
int main()
{
    std::thread a(
        [](int i) {
            if (x.fetch_add(1) == 0)
                assert(i == 0);
        },
        0),
        b(
            [](int i) {
                if (x.fetch_add(1) == 0)
                    assert(i == 0);
            },
            1);
    a.join();
    b.join();
}
