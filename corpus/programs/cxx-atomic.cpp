// expect: tso=safe pso=safe
#include <atomic>
#include <cassert>
#include <thread>
static std::atomic<int> n;
static std::atomic<bool> flag;
static std::atomic<long *> p;
static std::atomic_flag lock = ATOMIC_FLAG_INIT;
static long cell[2];
static int guarded;
static void run()
{
    n++;
    n.fetch_sub(1);
    int want = 0;
    n.compare_exchange_strong(want, 1);
    n &= ~2;
    while (lock.test_and_set())
        ;
    guarded++;
    lock.clear();
    long *none = nullptr;
    if (p.compare_exchange_strong(none, &cell[0]))
        p.fetch_add(1);
    flag.exchange(true);
}
int main()
{
    std::thread a(run), b(run);
    a.join();
    b.join();
    assert(guarded == 2 && p == &cell[1] && flag);
}
