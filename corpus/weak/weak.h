/* Short names for C11's atomics, and threads with numbers. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define rlx memory_order_relaxed
#define acq memory_order_acquire
#define rel memory_order_release
#define acq_rel memory_order_acq_rel
#define sc memory_order_seq_cst

#define load(p, order) atomic_load_explicit(p, order)
#define store(p, value, order) atomic_store_explicit(p, value, order)
#define swap(p, value, order) atomic_exchange_explicit(p, value, order)
#define add(p, value, order) atomic_fetch_add_explicit(p, value, order)
#define fence(order) atomic_thread_fence(order)

/* Compare-exchange: whether `from` was there. If it was not, nothing is ordered. */
#define cas(p, from, to, order)                                                                    \
    ({                                                                                             \
        __typeof__(atomic_load_explicit(p, rlx)) was_ = (from);                                    \
        atomic_compare_exchange_strong_explicit(p, &was_, to, order, rlx);                         \
    })

/* Runs thread 0 up to n - 1, and waits for them. */
static inline void threads(int n, void *(*run)(void *))
{
    pthread_t t[3];

    for (int i = 0; i < n; i++)
        pthread_create(&t[i], NULL, run, (void *)(intptr_t)i);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
}
