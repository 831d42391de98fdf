// expect: tso=safe pso=safe
#include <algorithm>
#include <cassert>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
static std::mutex m;
static std::string s = "start";
static std::vector<std::string> v;
static std::map<int, std::string> o;
static std::unordered_map<std::string, int> u;
static void run(int n)
{
    std::lock_guard<std::mutex> l(m);
    s += " and something more " + std::to_string(n);
    v.push_back(s);
    for (int i = 0; i < 20; i++)
        o[i * n] = s;
    u[s] = n;
    std::sort(v.begin(), v.end());
}
int main()
{
    std::thread a(run, 1), b(run, 2);
    a.join();
    b.join();
    assert(v.size() == 2 && u.size() == 2 && o.size() == 30);
}
