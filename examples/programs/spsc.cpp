/* A ring buffer for one producer and one consumer.
 *
 * Published by L. Lamport, "Specifying concurrent program modules", 1983.
 *
 * Safe on tso, unsafe on pso.
 *
 * pso: in put, the store that moves the head may arrive before the item is in its slot, and the
 * consumer reads what was there before. On tso stores arrive in order.
 *
 * Both sides have a full fence before they look at the other's index. The queue would deliver the
 * right items without, but not in a sequentially consistent way: each side's look could overtake
 * its own last move, so that the producer finds the queue full and the consumer finds it empty.
 */
#include <atomic>
#include <cassert>
#include <thread>

#ifndef N
#define N 3 /* items */
#endif

constexpr int SIZE = 2;

static int slot[SIZE];
static std::atomic<int> head; /* items put so far; only the producer moves it */
static std::atomic<int> tail; /* items got so far; only the consumer moves it */

static void put(int value)
{
    int h = head.load(std::memory_order_relaxed);

    std::atomic_thread_fence(std::memory_order_seq_cst);
    while (h - tail.load(std::memory_order_acquire) == SIZE) {
    }
    slot[h % SIZE] = value;
    head.store(h + 1, std::memory_order_relaxed);
}

static int get()
{
    int t = tail.load(std::memory_order_relaxed);

    std::atomic_thread_fence(std::memory_order_seq_cst);
    while (head.load(std::memory_order_acquire) == t) {
    }
    int value = slot[t % SIZE];
    tail.store(t + 1, std::memory_order_release);
    return value;
}

int main()
{
    std::thread producer([] {
        for (int i = 0; i < N; i++)
            put(i + 1);
    });
    std::thread consumer([] {
        for (int i = 0; i < N; i++) {
            int value = get();

            assert(value == i + 1);
        }
    });

    producer.join();
    consumer.join();
    return 0;
}
