// expect: error: abort
// Nobody catches it: std::terminate.
#include <stdexcept>
#include <thread>
int main()
{
    std::thread t([] { throw std::runtime_error("nobody"); });
    t.join();
}
