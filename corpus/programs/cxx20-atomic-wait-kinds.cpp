// expect: tso=safe
// flags: -std=c++20
// Only 4 bytes have a futex of their own; the others share words of the library.
#include <atomic>
#include <thread>
std::atomic<bool> flag;
std::atomic<long> number;
int main()
{
    std::jthread thread([] {
        number = 5;
        number.notify_all();
        flag = true;
        flag.notify_one();
    });
    number.wait(0);
    flag.wait(false);
}
