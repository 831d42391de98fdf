// expect: tso=safe
// flags: -std=c++20
#include <cassert>
#include <chrono>
#include <semaphore>
#include <thread>
std::counting_semaphore<2> semaphore(0);
std::binary_semaphore done(0);
int data;
int main()
{
    std::jthread thread([] {
        data = 1;
        semaphore.release();
        done.release();
    });
    if (semaphore.try_acquire_for(std::chrono::milliseconds(1)))
        assert(data == 1);
    done.acquire();
    assert(data == 1);
}
