/* A reference count: the last owner destroys the object.
 *
 * As in std::shared_ptr, or Arc in Rust. Why its orders are what they are: the documentation of
 * Boost.Atomic, "Reference counting" (H. Bahmann, 2011).
 *
 * Safe on tso, unsafe on pso, a data race under c11.
 *
 * c11: a relaxed decrement orders nothing but the count. On Arm an owner may give up its reference
 * before its last store to the object has arrived, and the last owner destroys an object that is
 * still written to. On x86 a locked instruction is a full fence, whatever order the source asks
 * for.
 */
#include <atomic>
#include <cassert>
#include <thread>

#ifndef N
#define N 2 /* owners besides main */
#endif

struct Object {
    std::atomic<int> owners{1};
    int part[N] = {}; /* each owner writes its own */

    ~Object()
    {
        for (int i = 0; i < N; i++)
            assert(part[i] == i + 1);
    }
};

static Object *share(Object *object)
{
    object->owners.fetch_add(1, std::memory_order_relaxed);
    return object;
}

static void release(Object *object)
{
    if (object->owners.fetch_sub(1, std::memory_order_relaxed) == 1)
        delete object;
}

static void run(Object *object, int i)
{
    object->part[i] = i + 1;
    release(object);
}

int main()
{
    auto *object = new Object;
    std::thread threads[N];

    for (int i = 0; i < N; i++)
        threads[i] = std::thread(run, share(object), i);
    release(object);
    for (auto &thread : threads)
        thread.join();
    return 0;
}
