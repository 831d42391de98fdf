// expect: safe
// counts: fewer
// Threads of the C++ library, alike.
#include <thread>
#include <atomic>
#include <cassert>
#include <vector>
std::atomic<int> x{0}, y{0};
int main()
{
    std::vector<std::thread> v;
    for (int i = 0; i < 3; i++)
        v.emplace_back([] {
            int r = x.fetch_add(1);
            y.store(r, std::memory_order_relaxed);
        });
    for (auto &t : v)
        t.join();
}
