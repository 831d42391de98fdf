// expect: tso=safe pso=safe
// Whoever is chosen to send, the message arrives; in a loop, and with one thread that chooses before there are others.
#include <atomic>
#include <cassert>
#include <thread>
#include <membar.h>
static std::atomic<int> box{-1};
int main()
{
    unsigned rounds = 1 + membar_choose(2);
    unsigned value = 0;
    for (unsigned i = 0; i < rounds; i++)
        value = 3 * value + membar_choose(3);
    std::thread sender([=] { box.store(static_cast<int>(value)); });
    while (box.load() < 0) {
    }
    assert(box.load() == static_cast<int>(value) && value < 9);
    sender.join();
}
