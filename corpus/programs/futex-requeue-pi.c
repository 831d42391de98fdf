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
static atomic_int mutex, condition;
static int ready;
static int self(void)
{
    return syscall(SYS_gettid);
}
static void lock(void)
{
    int free = 0;
    if (!atomic_compare_exchange_strong(&mutex, &free, self()))
        assert(futex(&mutex, FUTEX_LOCK_PI, 0) == 0);
}
static void unlock(void)
{
    int mine = self();
    if (!atomic_compare_exchange_strong(&mutex, &mine, 0))
        assert(futex(&mutex, FUTEX_UNLOCK_PI, 0) == 0);
}
static void *run(void *p)
{
    lock();
    while (!ready) {
        int now = atomic_load(&condition);
        unlock();
        if (syscall(SYS_futex, &condition, FUTEX_WAIT_REQUEUE_PI, now, 0, &mutex, 0) == -1) {
            assert(errno == EAGAIN);
            lock();
        }
        assert((atomic_load(&mutex) & FUTEX_TID_MASK) == self());
    }
    unlock();
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    lock();
    ready = 1;
    int now = atomic_fetch_add(&condition, 1) + 1;
    assert(syscall(SYS_futex, &condition, FUTEX_CMP_REQUEUE_PI, 1, 0, &mutex, now) >= 0);
    unlock();
    pthread_join(t, 0);
    return 0;
}
