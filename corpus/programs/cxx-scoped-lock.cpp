// expect: tso=safe pso=safe
// std::scoped_lock takes two mutexes in any order without a deadlock.
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
