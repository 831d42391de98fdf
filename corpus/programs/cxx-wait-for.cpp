// expect: tso=safe pso=safe
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
static std::mutex m;
static std::condition_variable c;
static bool ready;
int main()
{
    std::thread t([] {
        std::unique_lock<std::mutex> l(m);
        bool ok = c.wait_for(l, std::chrono::milliseconds(10), [] { return ready; });
        assert(ok == ready);
        std::this_thread::sleep_for(std::chrono::hours(1));
        std::this_thread::yield();
    });
    {
        std::lock_guard<std::mutex> l(m);
        ready = true;
    }
    c.notify_one();
    t.join();
}
