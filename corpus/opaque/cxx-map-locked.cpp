// expect: tso=safe pso=safe
#include <cassert>
#include <list>
#include <map>
#include <mutex>
#include <thread>
static std::mutex m;
static std::map<int, int> all;
static std::list<int> some;
static void add(int n)
{
    std::lock_guard<std::mutex> l(m);
    all[n] = n;
    some.push_back(n);
}
int main()
{
    std::thread a(add, 1);
    add(2);
    a.join();
    assert(all.size() == 2 && some.size() == 2 && all.begin()->first == 1);
}
