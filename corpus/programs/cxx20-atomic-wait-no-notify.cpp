// expect: error: waits to be woken
// flags: -std=c++20
#include <atomic>
#include <thread>
std::atomic<int> flag;
int main()
{
    std::jthread thread([] { flag = 1; });
    flag.wait(0);
}
