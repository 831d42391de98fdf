// expect: error: assertion
#include <cassert>
#include <list>
#include <thread>
static std::list<int> all;
static void add(int n) { all.push_back(n); }
int main()
{
    std::thread a(add, 1);
    add(2);
    a.join();
    int n = 0;
    for (auto it = all.begin(); it != all.end() && n < 3; ++it)
        n++;
    assert(n == 2);
}
