/* Chase and Lev's work-stealing deque: the owner pushes and takes at the bottom, thieves steal at
 * the top; no locks.
 *
 * Published by D. Chase and Y. Lev, "Dynamic circular work-stealing deque", SPAA 2005; with C11's
 * atomics by N. M. Lê, A. Pop, A. Cohen and F. Zappa Nardelli, "Correct and efficient
 * work-stealing for weak memory models", PPoPP 2013. The array does not grow here, so push need
 * not look at the top.
 *
 * Safe on tso and on pso.
 *
 * The fix: a full fence in take between the store to bottom and the load of top. A thief that
 * comes too late to be seen by the load sees the new bottom.
 *
 * What pso alone would break is in order: push moves the bottom with a release store, when the
 * item is in its place. Thieves store nothing, except with compare-and-swap.
 */
#include <atomic>
#include <cassert>
#include <thread>

#ifndef N
#define N 2 /* items; as many takes and steals */
#endif

static std::atomic<int> item[N];
static std::atomic<int> top, bottom; /* items from top up to bottom - 1 are in the deque */

static void push(int value)
{
    int b = bottom.load(std::memory_order_relaxed);

    item[b].store(value, std::memory_order_relaxed);
    bottom.store(b + 1, std::memory_order_release);
}

static bool win(int t)
{
    return top.compare_exchange_strong(t, t + 1, std::memory_order_seq_cst,
                                       std::memory_order_relaxed);
}

/* 0 if the deque is empty. */
static int take()
{
    int b = bottom.load(std::memory_order_relaxed) - 1;

    bottom.store(b, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    int t = top.load(std::memory_order_relaxed);
    if (t < b)
        return item[b].load(std::memory_order_relaxed);
    int value = 0;
    if (t == b && win(t)) /* the last one: thieves may want it too */
        value = item[b].load(std::memory_order_relaxed);
    bottom.store(b + 1, std::memory_order_relaxed);
    return value;
}

/* 0 if the deque is empty or another thread was faster. */
static int steal()
{
    int t = top.load(std::memory_order_acquire);

    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (t >= bottom.load(std::memory_order_acquire))
        return 0;
    int value = item[t].load(std::memory_order_relaxed);
    return win(t) ? value : 0;
}

int main()
{
    int taken = 0, stolen = 0;
    std::thread owner([&] {
        for (int i = 0; i < N; i++)
            push(i + 1);
        for (int i = 0; i < N; i++)
            taken += take();
    });
    std::thread thief([&] {
        for (int i = 0; i < N; i++)
            stolen += steal();
    });

    owner.join();
    thief.join();
    assert(taken + stolen == N * (N + 1) / 2);
    return 0;
}
