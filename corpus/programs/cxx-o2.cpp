// expect: tso=safe pso=unsafe
// flags: -std=c++17 -O3
#include <atomic>
#include <thread>
template <class T> struct Slot {
    T value{};
    std::atomic<bool> full{false};
    void put(T v) { value = v; full.store(true, std::memory_order_relaxed); }
    bool get(T &v) { if (!full.load(std::memory_order_acquire)) return false; v = value; return true; }
};
static Slot<long> s;
int main()
{
    std::thread t([] { s.put(5); });
    long v = 5;
    s.get(v);
    t.join();
    return v != 5;
}
