// expect: tso=safe pso=safe
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>
static std::recursive_mutex m;
static std::condition_variable_any c;
static bool ready;
int main()
{
    std::thread t([] {
        std::unique_lock<std::recursive_mutex> l(m);
        c.wait(l, [] { return ready; });
    });
    {
        std::lock_guard<std::recursive_mutex> l(m);
        ready = true;
    }
    c.notify_all();
    t.join();
}
