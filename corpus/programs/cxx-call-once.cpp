// expect: tso=safe pso=safe
#include <cassert>
#include <mutex>
#include <thread>
static std::once_flag flag;
static int times, value;
static void run()
{
    std::call_once(flag, [](int v) { times++; value = v; }, 7);
    assert(value == 7);
}
int main()
{
    std::thread a(run), b(run);
    a.join();
    b.join();
    assert(times == 1);
}
