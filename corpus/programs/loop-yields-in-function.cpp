// expect: tso=safe pso=safe
// How many rounds it is until it yields decides nothing, though functions of the C++ library do that.
#include <atomic>
#include <thread>

struct Spin {
    std::atomic_flag flag = ATOMIC_FLAG_INIT;

    void lock()
    {
        unsigned rounds = 0;

        while (flag.test_and_set(std::memory_order_acquire))
            if (++rounds % 16 == 0)
                std::this_thread::yield();
    }
    void unlock() { flag.clear(std::memory_order_release); }
};

static Spin lock;
static int count;

int main()
{
    auto run = [] { lock.lock(); count++; lock.unlock(); };
    std::thread a(run), b(run);

    a.join();
    b.join();
    return count != 2;
}
