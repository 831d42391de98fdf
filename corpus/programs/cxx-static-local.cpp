// expect: tso=safe pso=safe
#include <cassert>
#include <thread>
static int made;
struct Thing { int v; Thing() : v(42) { made++; } };
static Thing &instance() { static Thing t; return t; }
int main()
{
    std::thread a([] { assert(instance().v == 42); });
    std::thread b([] { assert(instance().v == 42); });
    a.join();
    b.join();
    assert(made == 1);
}
