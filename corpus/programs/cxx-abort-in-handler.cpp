// expect: error: main aborts
// The exception is caught; who aborts is the program.
#include <cstdlib>
#include <stdexcept>
int main()
{
    try {
        throw std::runtime_error("caught");
    } catch (...) {
        std::abort();
    }
}
