// expect: tso=safe pso=safe
#include <iostream>
#include <mutex>
#include <sstream>
#include <thread>
static std::mutex m;
static void run(int n)
{
    std::ostringstream o;
    o << "thread " << n << ' ' << 1.5 << '\n';
    std::lock_guard<std::mutex> l(m);
    std::cout << o.str() << std::flush;
    std::cerr << n << std::endl;
}
int main()
{
    std::thread a(run, 1), b(run, 2);
    a.join();
    b.join();
}
