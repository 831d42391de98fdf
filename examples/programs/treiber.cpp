/* Treiber's stack: push and pop swing the top with a compare-and-swap.
 *
 * Published by R. K. Treiber, "Systems programming: coping with parallelism", IBM RJ 5118, 1986.
 * No node is used again here, so the top needs no counter.
 *
 * Safe on tso, unsafe on pso.
 *
 * pso: in push, the compare-and-swap may take effect before the stores to the fields of the node,
 * which are still in their buffers. The thread that pops the node reads a wrong value, or makes a
 * wild pointer the top. On tso a compare-and-swap waits until the store buffer is empty.
 */
#include <atomic>
#include <cassert>
#include <cstdlib>
#include <thread>

#ifndef N
#define N 1 /* rounds a thread */
#endif

struct Node {
    int value;
    Node *next;
    Node *made; /* what the same thread allocated before */
};

static std::atomic<Node *> top;

static void push(Node *n)
{
    Node *old;

    do {
        old = top.load(std::memory_order_relaxed);
        n->next = old;
    } while (!top.compare_exchange_strong(old, n, std::memory_order_relaxed,
                                          std::memory_order_relaxed));
}

/* nullptr if the stack is empty. */
static Node *pop()
{
    Node *old;

    do {
        old = top.load(std::memory_order_acquire);
    } while (old != nullptr && !top.compare_exchange_strong(old, old->next,
                                                            std::memory_order_relaxed,
                                                            std::memory_order_relaxed));
    return old;
}

static void run(int value, Node *&made, int &sum)
{
    for (int i = 0; i < N; i++) {
        Node *n = static_cast<Node *>(std::malloc(sizeof(Node)));

        n->value = value;
        n->made = made;
        made = n;
        push(n);
        Node *popped = pop();
        assert(popped != nullptr);
        sum += popped->value;
    }
}

int main()
{
    Node *made[2] = {nullptr, nullptr};
    int sum[2] = {0, 0};
    std::thread a([&] { run(1, made[0], sum[0]); });
    std::thread b([&] { run(2, made[1], sum[1]); });

    a.join();
    b.join();
    assert(sum[0] + sum[1] == 3 * N);
    assert(top.load() == nullptr);
    for (Node *n : made)
        while (n != nullptr) {
            Node *before = n->made;

            std::free(n);
            n = before;
        }
    return 0;
}
