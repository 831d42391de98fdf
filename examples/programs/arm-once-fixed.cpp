/* Double-checked initialisation: the first thread that needs an object makes it. The others take
 * the lock only if they find none.
 *
 * D. C. Schmidt and T. Harrison, "Double-checked locking", 1996; broken: D. Bacon and others,
 * "The 'double-checked locking is broken' declaration", 2000.
 *
 * Safe on tso, on pso and under c11.
 *
 * The fix: the pointer is stored with release when the object is complete, and the load without the
 * lock is an acquire. The load under the lock may be relaxed, as the lock orders it.
 */
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>

#ifndef N
#define N 2 /* threads */
#endif

struct Table {
    int size;

    Table()
    {
        size = 42;
    }
};

static std::atomic<Table *> table;
static std::mutex mutex;
static int made; /* protected by the mutex */

static Table *get()
{
    Table *t = table.load(std::memory_order_acquire);

    if (t == nullptr) {
        std::lock_guard<std::mutex> guard(mutex);

        t = table.load(std::memory_order_relaxed);
        if (t == nullptr) {
            t = new Table;
            made++;
            table.store(t, std::memory_order_release);
        }
    }
    return t;
}

static void run()
{
    int size = get()->size;

    assert(size == 42);
}

int main()
{
    std::thread threads[N];

    for (auto &thread : threads)
        thread = std::thread(run);
    for (auto &thread : threads)
        thread.join();
    assert(made == 1);
    delete table.load();
    return 0;
}
