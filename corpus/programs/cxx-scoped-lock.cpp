// expect: tso=undecided pso=undecided
// driver: --strategy bounded:1 --steps 200
// std::scoped_lock takes two mutexes in any order without a deadlock, but may try for ever.
#include <mutex>
#include <thread>
static std::mutex a, b;
static int x;
int main()
{
    std::thread t([] { std::scoped_lock l(a, b); x++; });
    {
        std::scoped_lock l(b, a);
        x++;
    }
    t.join();
    return x != 2;
}
