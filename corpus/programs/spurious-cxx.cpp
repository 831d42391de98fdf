// expect: error: assertion `full`
// driver: --assume spurious-wakeups
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>
std::mutex mutex;
std::condition_variable condition;
bool full;
int main()
{
    std::thread thread([] {
        std::lock_guard<std::mutex> guard(mutex);
        full = true;
        condition.notify_one();
    });
    {
        std::unique_lock<std::mutex> lock(mutex);
        if (!full)
            condition.wait(lock);
        assert(full);
    }
    thread.join();
}
