// expect: tso=safe pso=safe
#include <cassert>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>
static std::mutex m;
static void add(int &sum, int n) { std::lock_guard<std::mutex> l(m); sum += n; }
int main()
{
    int sum = 0;
    std::vector<std::thread> ts;
    for (int i = 1; i <= 3; i++)
        ts.emplace_back(add, std::ref(sum), i);
    assert(ts[0].get_id() != ts[1].get_id() && ts[0].joinable());
    for (auto &t : ts)
        t.join();
    assert(sum == 6 && std::this_thread::get_id() != std::thread::id());
}
