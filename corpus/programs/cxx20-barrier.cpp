// expect: tso=safe pso=safe
// flags: -std=c++20
#include <barrier>
#include <cassert>
#include <thread>
static int x[2], phases;
int main()
{
    std::barrier b(2, []() noexcept { phases++; });
    auto run = [&](int i) {
        x[i] = 1;
        b.arrive_and_wait();
        assert(x[1 - i] == 1);
    };
    std::thread t(run, 0);
    run(1);
    t.join();
    assert(phases == 1);
}
