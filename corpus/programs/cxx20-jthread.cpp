// expect: tso=safe pso=safe
// flags: -std=c++20
#include <atomic>
#include <cassert>
#include <thread>
static std::atomic<int> x;
int main()
{
    {
        std::jthread t([](std::stop_token s) {
            x = 1;
            while (!s.stop_requested())
                ;
            x = 2;
        });
    }
    assert(x == 2);
}
