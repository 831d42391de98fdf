// expect: tso=safe pso=safe
#include <cassert>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
static std::mutex m;
static std::condition_variable c;
static std::deque<int> q;
int main()
{
    std::thread t([] {
        for (int i = 1; i <= 2; i++) {
            std::lock_guard<std::mutex> l(m);
            q.push_back(i);
            c.notify_one();
        }
    });
    int last = 0;
    while (last < 2) {
        std::unique_lock<std::mutex> l(m);
        c.wait(l, [] { return !q.empty(); });
        assert(q.front() == last + 1);
        last = q.front();
        q.pop_front();
    }
    t.join();
}
