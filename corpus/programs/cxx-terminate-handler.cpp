// expect: error: the program ends with status 3 after: uncaught exception `std::runtime_error`: last
// The program has its own way to terminate.
#include <cstdlib>
#include <exception>
#include <stdexcept>
int main()
{
    std::set_terminate([] { std::exit(3); });
    throw std::runtime_error("last");
}
