/* A reference count: the last owner destroys the object.
 *
 * As in std::shared_ptr, or Arc in Rust. Why its orders are what they are: the documentation of
 * Boost.Atomic, "Reference counting" (H. Bahmann, 2011).
 *
 * Safe on tso, on pso and under c11.
 *
 * The fix: the decrement is a release, and the last owner has an acquire fence before it destroys
 * the object. So everything that the others did happens before; each decrement continues the
 * release sequences of those before it. Only the last owner pays for the fence. Taking a reference
 * may be relaxed, because the thread already holds one.
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
    if (object->owners.fetch_sub(1, std::memory_order_release) == 1) {
        std::atomic_thread_fence(std::memory_order_acquire);
        delete object;
    }
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
