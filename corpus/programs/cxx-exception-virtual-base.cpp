// expect: error: uncaught exception `shop::sold_out<int>`: no more
// std::exception is a virtual base, and not the first one.
#include <exception>
#include <string>
#include <thread>
namespace shop {
struct item {
    long number = 7;
    virtual ~item() = default;
};
template <class T> struct sold_out : item, virtual std::exception {
    std::string why = "no more";
    const char *what() const noexcept override { return why.c_str(); }
};
}
int main()
{
    std::thread t([] { throw shop::sold_out<int>(); });
    t.join();
}
