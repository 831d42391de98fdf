// expect: tso=safe pso=safe
// The first call throws, so the function is called again, by whoever comes next.
#include <cassert>
#include <mutex>
#include <thread>
static std::once_flag flag;
static int tries;
static void init() { if (++tries == 1) throw 5; }
static void run()
{
    try {
        std::call_once(flag, init);
    } catch (int n) {
        assert(n == 5);
    }
}
int main()
{
    std::thread a(run), b(run);
    a.join();
    b.join();
    run();
    assert(tries == 2);
}
