// expect: error: uncaught exception `std::logic_error`: too late, which leaves a `noexcept` function
// The destructor runs while the stack is unwound: the place of the throw is no longer on it.
#include <stdexcept>
#include <thread>
struct guard {
    ~guard() {}
};
static void inner()
{
    guard g;
    throw std::logic_error("too late");
}
static void outer() noexcept { inner(); }
int main()
{
    std::thread t(outer);
    t.join();
}
