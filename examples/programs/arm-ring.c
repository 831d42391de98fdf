/* A ring buffer for one producer and one consumer that moves its indices rarely: the producer looks
 * at the tail only when it has used up the ring, the consumer moves it only when it has emptied the
 * ring.
 *
 * The idea is in P. P. C. Lee, T. Bu and G. Chandranmenon, "A lock-free, cache-efficient shared
 * ring buffer for multi-core architectures", ANCS 2009.
 *
 * Safe on tso, unsafe on pso, a data race under c11.
 *
 * c11: nothing orders a slot with the index that announces it. On Arm, or after the compiler, put
 * may move the head before the item is in its slot, and get may read the slot before the head. Then
 * the consumer gets what was in the slot before. The other way round, get may move the tail before
 * it has read the slot, and the producer overwrites an item that was not read. On x86 stores arrive
 * in order, loads are made in order, and a store does not overtake a load.
 *
 * The compiler is enough: clang 14 with -O2 reads slot[0] only once, and the assertion fails on x86
 * too. membar compiles with -O0 unless told otherwise.
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
        while (atomic_load_explicit(&tail, memory_order_relaxed) != h)
            ;
    slot[h % SIZE] = value;
    atomic_store_explicit(&head, h + 1, memory_order_relaxed);
}

static int get(int h)
{
    int value;

    while (atomic_load_explicit(&head, memory_order_relaxed) == h)
        ;
    value = slot[h % SIZE];
    if ((h + 1) % SIZE == 0)
        atomic_store_explicit(&tail, h + 1, memory_order_relaxed);
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
