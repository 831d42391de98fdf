// expect: tso=safe pso=safe
#include <cassert>
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>
static std::recursive_mutex r;
static std::shared_mutex s;
static std::timed_mutex t;
static int x, y, z;
static void run()
{
    {
        std::lock_guard<std::recursive_mutex> a(r), b(r);
        x++;
    }
    {
        std::shared_lock<std::shared_mutex> l(s);
        assert(y == 0 || y == 1);
    }
    if (t.try_lock_for(std::chrono::milliseconds(5))) {
        z++;
        t.unlock();
    }
}
int main()
{
    std::thread a(run);
    {
        std::unique_lock<std::recursive_mutex> l(r, std::try_to_lock);
        if (l)
            x++;
    }
    {
        std::unique_lock<std::shared_mutex> l(s);
        y = 2;
        y = 1;
    }
    a.join();
    assert(x >= 1 && z <= 1);
}
