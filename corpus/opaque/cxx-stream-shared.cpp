// expect: tso=undecided pso=undecided
// says: is not instrumented, and touches
#include <sstream>
#include <thread>
static std::ostringstream out;
int main()
{
    std::thread a([] { out << 1; });
    out << 2;
    a.join();
}
