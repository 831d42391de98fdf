// fails: uncaught exception `std::runtime_error`
// The second one throws, and nobody catches.
#include <atomic>
#include <stdexcept>
#include <thread>

#ifdef BROKEN
constexpr auto put = std::memory_order_release, get = std::memory_order_acquire;
#else
constexpr auto put = std::memory_order_seq_cst, get = std::memory_order_seq_cst;
#endif

static std::atomic<int> here[2], inside;

static void run(int me)
{
    here[me].store(1, put);
    if (!here[!me].load(get) && inside.fetch_add(1, std::memory_order_relaxed))
        throw std::runtime_error("both are inside");
}

int main()
{
    std::thread one(run, 0), two(run, 1);
    one.join();
    two.join();
}
