// expect: tso=unsafe pso=unsafe
// only: clang
// flags: -latomic
// Relaxed atomics of 16 bytes are loads and stores like any other, also where the compiler calls libatomic for them.
#include <atomic>
#include <thread>
struct Pair {
    long low, high;
};
static std::atomic<Pair> a, b;
static long r1, r2;
int main()
{
    std::thread t([] {
        a.store({1, 1}, std::memory_order_relaxed);
        r1 = b.load(std::memory_order_relaxed).low;
    });
    b.store({1, 1}, std::memory_order_relaxed);
    r2 = a.load(std::memory_order_relaxed).high;
    t.join();
}
