// expect: error
// counts: same
// Threads of the C++ library ask who they are.
#include <thread>
#include <atomic>
#include <cassert>
std::atomic<int> x{0};
std::thread::id ids[2];
int main()
{
    auto f = [] {
        int r = x.fetch_add(1);
        ids[r] = std::this_thread::get_id();
    };
    std::thread a(f), b(f);
    auto ai = a.get_id();
    a.join();
    b.join();
    assert(ids[0] == ai);
}
