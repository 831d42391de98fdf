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
/* a condition variable that moves waiters to the mutex instead of waking them all */
static atomic_int mutex, sequence;
static int ready, seen;
static void lock(int contended)
{
    int found = 0;
    if (!contended && atomic_compare_exchange_strong(&mutex, &found, 1))
        return;
    while (atomic_exchange(&mutex, 2) != 0)
        futex(&mutex, FUTEX_WAIT, 2);
}
static void unlock(void)
{
    if (atomic_exchange(&mutex, 0) == 2)
        futex(&mutex, FUTEX_WAKE, 1);
}
static void *run(void *p)
{
    lock(0);
    while (!ready) {
        int now = atomic_load(&sequence);
        unlock();
        futex(&sequence, FUTEX_WAIT, now);
        lock(1);
    }
    seen++;
    unlock();
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    lock(0);
    ready = 1;
    int now = atomic_fetch_add(&sequence, 1) + 1;
    long moved = syscall(SYS_futex, &sequence, FUTEX_CMP_REQUEUE, 0, INT32_MAX, &mutex, now);
    assert(moved == 0 || moved == 1);
    if (moved)
        atomic_store(&mutex, 2);
    unlock();
    pthread_join(t, 0);
    assert(seen == 1);
    return 0;
}
