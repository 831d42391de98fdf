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
/* an event count: who waits looks at the condition once more after it has said that it will wait */
static atomic_int epoch, waiters;
static atomic_int item;
static void notify(void)
{
    atomic_fetch_add(&epoch, 1);
    if (atomic_load(&waiters))
        futex(&epoch, FUTEX_WAKE_PRIVATE, INT32_MAX);
}
static void *run(void *p)
{
    for (;;) {
        if (atomic_load(&item))
            return p;
        atomic_fetch_add(&waiters, 1);
        int key = atomic_load(&epoch);
        if (atomic_load(&item)) {
            atomic_fetch_sub(&waiters, 1);
            return p;
        }
        futex(&epoch, FUTEX_WAIT_PRIVATE, key);
        atomic_fetch_sub(&waiters, 1);
    }
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    atomic_store(&item, 1);
    notify();
    pthread_join(t, 0);
    return 0;
}
