/* A work-stealing queue: its owner puts and takes at the tail without a lock, thieves steal at the
 * head with one. Only when the two ends meet does the owner lock too.
 *
 * Published as the THE protocol of Cilk: M. Frigo, C. E. Leiserson and K. H. Randall, "The
 * implementation of the Cilk-5 multithreaded language", PLDI 1998. The queue "takequeue", in which
 * SOBER found two errors of this kind (Burckhardt and Musuvathi, CAV 2008), was not published.
 *
 * Unsafe on tso and on pso.
 *
 * tso: in take, the load of head may overtake the store to tail, and in steal the load of tail the
 * store to head. Owner and thief then both get the last item. (One of the two is enough to leave
 * sequential consistency.)
 *
 * What pso alone would break is in order: put writes the item before the tail with a release
 * store, and locking (sequentially consistent) and unlocking (release) keep the thief's moves in
 * order.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 2 /* items; as many takes and steals */
#endif

static int item[N];
static atomic_int head, tail; /* items from head up to tail - 1 are in the queue */
static atomic_int locked;

static void lock(void)
{
    int unlocked;

    do
        unlocked = 0;
    while (!atomic_compare_exchange_strong(&locked, &unlocked, 1));
}

static void unlock(void)
{
    atomic_store_explicit(&locked, 0, memory_order_release);
}

static void put(int value)
{
    int t = atomic_load_explicit(&tail, memory_order_relaxed);

    item[t] = value;
    atomic_store_explicit(&tail, t + 1, memory_order_release);
}

/* 0 if the queue is empty. */
static int take(void)
{
    int t = atomic_load_explicit(&tail, memory_order_relaxed) - 1;
    int empty;

    atomic_store_explicit(&tail, t, memory_order_relaxed);
    if (atomic_load_explicit(&head, memory_order_relaxed) <= t)
        return item[t];
    lock(); /* a thief wants the same one; it gives way, or has it already */
    empty = atomic_load_explicit(&head, memory_order_relaxed) > t;
    if (empty)
        atomic_store_explicit(&tail, t + 1, memory_order_relaxed);
    unlock();
    return empty ? 0 : item[t];
}

/* 0 if the queue is empty. */
static int steal(void)
{
    int value = 0;
    int h;

    lock();
    h = atomic_load_explicit(&head, memory_order_relaxed);
    atomic_store_explicit(&head, h + 1, memory_order_relaxed);
    if (h < atomic_load_explicit(&tail, memory_order_relaxed))
        value = item[h];
    else
        atomic_store_explicit(&head, h, memory_order_relaxed);
    unlock();
    return value;
}

static int taken[2]; /* what owner and thief got, added up */

static void *owner(void *arg)
{
    int sum = 0;

    (void)arg;
    for (int i = 0; i < N; i++)
        put(i + 1);
    for (int i = 0; i < N; i++)
        sum += take();
    taken[0] = sum;
    return NULL;
}

static void *thief(void *arg)
{
    int sum = 0;

    (void)arg;
    for (int i = 0; i < N; i++)
        sum += steal();
    taken[1] = sum;
    return NULL;
}

int main(void)
{
    pthread_t a, b;

    pthread_create(&a, NULL, owner, NULL);
    pthread_create(&b, NULL, thief, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(taken[0] + taken[1] == N * (N + 1) / 2);
    return 0;
}
