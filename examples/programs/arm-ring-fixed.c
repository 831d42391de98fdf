/* A ring buffer for one producer and one consumer that moves its indices rarely: the producer looks
 * at the tail only when it has used up the ring, the consumer moves it only when it has emptied the
 * ring.
 *
 * The idea is in P. P. C. Lee, T. Bu and G. Chandranmenon, "A lock-free, cache-efficient shared
 * ring buffer for multi-core architectures", ANCS 2009.
 *
 * Safe on tso, on pso and under c11.
 *
 * The fix: each index is moved with a release store and read by the other side with an acquire
 * load. A consumer that sees the head sees the item; a producer that sees the tail knows that the
 * slots have been read. Each side may read its own index relaxed.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 3 /* items */
#endif

#define SIZE 2

static int slot[SIZE];
static atomic_int head; /* items put so far; only the producer moves it */
static atomic_int tail; /* items whose slots are free again; only the consumer moves it */

static void put(int value)
{
    int h = atomic_load_explicit(&head, memory_order_relaxed);

    if (h % SIZE == 0)
        while (atomic_load_explicit(&tail, memory_order_acquire) != h)
            ;
    slot[h % SIZE] = value;
    atomic_store_explicit(&head, h + 1, memory_order_release);
}

static int get(int h)
{
    int value;

    while (atomic_load_explicit(&head, memory_order_acquire) == h)
        ;
    value = slot[h % SIZE];
    if ((h + 1) % SIZE == 0)
        atomic_store_explicit(&tail, h + 1, memory_order_release);
    return value;
}

static void *producer(void *arg)
{
    (void)arg;
    for (int i = 0; i < N; i++)
        put(i + 1);
    return NULL;
}

static void *consumer(void *arg)
{
    (void)arg;
    for (int i = 0; i < N; i++) {
        int value = get(i);

        assert(value == i + 1);
    }
    return NULL;
}

int main(void)
{
    pthread_t t, u;

    pthread_create(&t, NULL, producer, NULL);
    pthread_create(&u, NULL, consumer, NULL);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    return 0;
}
