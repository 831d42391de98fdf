// expect: tso=safe pso=safe
#include <atomic>
#include <cassert>
#include <string>
#include <thread>
static std::atomic<int> alive, made;
struct Local {
    std::string name = "a string that is too long for the small buffer";
    Local() { ++alive; ++made; }
    ~Local() { assert(name.size() == 47 || name.size() == 46); --alive; }
};
thread_local Local local;
static thread_local int count = 3;
static void run()
{
    assert(count == 3);
    count++;
    assert(local.name[0] == 'a');
    assert(&local.name == &local.name);
}
int main()
{
    std::thread a(run), b(run);
    a.join();
    b.join();
    assert(made == 2 && alive == 0 && count == 3);
}
