// expect: tso=safe pso=safe
// flags: -std=c++20
#include <barrier>
#include <cassert>
#include <latch>
#include <semaphore>
#include <thread>
static std::latch l(2);
static std::binary_semaphore s(0);
static int x, y;
int main()
{
    std::thread t([] {
        x = 1;
        l.count_down();
        s.acquire();
        assert(y == 1);
    });
    l.arrive_and_wait();
    assert(x == 1);
    y = 1;
    s.release();
    t.join();
}
