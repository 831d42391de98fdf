// expect: tso=safe pso=safe
#include <cassert>
#include <stdexcept>
#include <thread>
static int tries;
struct Thing { Thing() { if (++tries == 1) throw std::runtime_error("first"); } };
static void get()
{
    try {
        static Thing t;
    } catch (const std::runtime_error &) {
    }
}
int main()
{
    std::thread a(get), b(get);
    a.join();
    b.join();
    assert(tries == 2);
}
