// expect: tso=safe pso=safe
// Both threads have an exception in flight while the other one runs.
#include <atomic>
#include <cassert>
#include <exception>
#include <thread>
static std::atomic<int> x;
struct Touch { ~Touch() { x++; assert(std::uncaught_exceptions() == 1); } };
static void run(int n)
{
    try {
        Touch t;
        throw n;
    } catch (int got) {
        x++;
        assert(got == n && std::uncaught_exceptions() == 0);
        try {
            throw;
        } catch (int again) {
            assert(again == n);
        }
    }
}
int main()
{
    std::thread t(run, 1);
    run(2);
    t.join();
    assert(x == 4);
}
