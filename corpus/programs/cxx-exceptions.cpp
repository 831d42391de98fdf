// expect: tso=safe pso=safe
#include <atomic>
#include <cassert>
#include <stdexcept>
#include <string>
#include <thread>
static std::atomic<int> unwound;
struct Guard { ~Guard() { unwound++; } };
static void deep(int n)
{
    Guard g;
    if (n == 0)
        throw std::runtime_error("bottom");
    deep(n - 1);
}
static void run()
{
    for (int i = 0; i < 2; i++) {
        try {
            try {
                deep(2);
            } catch (const std::logic_error &) {
                assert(false);
            }
        } catch (const std::exception &e) {
            assert(std::string(e.what()) == "bottom");
        }
    }
}
int main()
{
    std::thread t(run);
    run();
    t.join();
    assert(unwound == 12);
}
