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
static long futex(atomic_int *word, int operation, int value)
{
    return syscall(SYS_futex, word, operation, value, 0, 0, 0);
}
/* as Rust's `thread::park`: 0 empty, 1 notified, -1 parked */
static atomic_int state;
static atomic_int flag;
static void park(void)
{
    if (atomic_fetch_sub(&state, 1) == 1)
        return;
    for (;;) {
        futex(&state, FUTEX_WAIT_PRIVATE, -1);
        int notified = 1;
        if (atomic_compare_exchange_strong(&state, &notified, 0))
            return;
    }
}
static void unpark(void)
{
    if (atomic_exchange(&state, 1) == -1)
        futex(&state, FUTEX_WAKE_PRIVATE, 1);
}
static void *run(void *p)
{
    while (!atomic_load(&flag))
        park();
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    atomic_store(&flag, 1);
    unpark();
    pthread_join(t, 0);
    return 0;
}
