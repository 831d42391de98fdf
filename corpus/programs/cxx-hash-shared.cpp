// expect: tso=unsafe pso=unsafe
// flags: -std=c++17
// The C++ library reads the text to make a number of it.
#include <functional>
#include <string_view>
#include <thread>
static char text[] = "a";
static std::size_t hash;
static int x, found;
int main()
{
    std::thread other([] {
        x = 1;
        hash = std::hash<std::string_view>()(std::string_view(text, 1));
    });
    text[0] = 'b';
    found = x;
    other.join();
}
