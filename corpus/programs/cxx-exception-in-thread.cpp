// expect: error: T1: uncaught exception `std::runtime_error`: nobody
// Nobody catches it: std::terminate.
#include <stdexcept>
#include <thread>
int main()
{
    std::thread t([] { throw std::runtime_error("nobody"); });
    t.join();
}
