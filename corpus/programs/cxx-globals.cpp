// expect: tso=safe pso=safe
#include <cassert>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
struct Global {
    std::vector<int> v{1, 2, 3};
    std::map<std::string, int> m{{"a", 1}};
    int *p = new int(9);
    ~Global() { assert(v.size() == 5 && m.size() == 2 && *p == 11); delete p; }
};
static Global g;
static std::mutex m;
static void run(int n)
{
    std::lock_guard<std::mutex> l(m);
    g.v.push_back(n);
    g.m["a string that needs the heap to live in"] += n;
    ++*g.p;
}
int main()
{
    assert(g.v.size() == 3 && *g.p == 9 && g.m.size() == 1);
    std::thread a(run, 1), b(run, 2);
    a.join();
    b.join();
    assert(g.m.rbegin()->second == 3);
}
