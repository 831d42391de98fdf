// expect: safe
// The initialisation of a static variable within a function is ordered before every use.
#include <thread>
struct Table { int entries[2]; Table() { entries[0] = 1; entries[1] = 2; } };
static int sum() { static Table table; return table.entries[0] + table.entries[1]; }
int main()
{
    int a = 0, b = 0;
    std::thread one([&] { a = sum(); }), two([&] { b = sum(); });
    one.join();
    two.join();
    return a != 3 || b != 3;
}
