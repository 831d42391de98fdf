// expect: tso=safe pso=safe
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
/* looks a few times before it sleeps, as Rust's standard library does */
static atomic_uint state;
static int counter;
static unsigned spin(void)
{
    for (int i = 3;; i--) {
        unsigned seen = atomic_load_explicit(&state, memory_order_relaxed);
        if (seen != 1 || i == 0)
            return seen;
        __builtin_ia32_pause();
    }
}
static void lock(void)
{
    unsigned seen = 0;
    if (atomic_compare_exchange_strong(&state, &seen, 1))
        return;
    seen = spin();
    if (seen == 0 && atomic_compare_exchange_strong(&state, &seen, 1))
        return;
    for (;;) {
        if (seen != 2 && atomic_exchange(&state, 2) == 0)
            return;
        syscall(SYS_futex, &state, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 2, 0, 0, ~0u);
        seen = spin();
    }
}
static void unlock(void)
{
    if (atomic_exchange(&state, 0) == 2)
        syscall(SYS_futex, &state, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
}
static void *run(void *p)
{
    lock();
    counter++;
    unlock();
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    run(0);
    pthread_join(t, 0);
    assert(counter == 2);
    return 0;
}
