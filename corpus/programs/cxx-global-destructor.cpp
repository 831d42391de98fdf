// expect: tso=unsafe pso=unsafe
// Destructors of globals are run beside threads that go on.
#include <thread>
static int x, y, a, b;
static struct Global {
    ~Global() { y = 1; b = x; }
} global;
int main()
{
    std::thread([] { x = 1; a = y; }).detach();
}
