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
static atomic_int mutex;
static int counter;
static int self(void)
{
    return syscall(SYS_gettid);
}
static void lock(void)
{
    int free = 0;
    if (!atomic_compare_exchange_strong(&mutex, &free, self()))
        assert(futex(&mutex, FUTEX_LOCK_PI, 0) == 0);
    assert((atomic_load(&mutex) & FUTEX_TID_MASK) == self());
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
    counter++;
    assert(futex(&mutex, FUTEX_LOCK_PI, 0) == -1 && errno == EDEADLK);
    unlock();
    return p;
}
int main(void)
{
    pthread_t t;
    assert(futex(&mutex, FUTEX_UNLOCK_PI, 0) == -1 && errno == EPERM);
    pthread_create(&t, 0, run, 0);
    run(0);
    pthread_join(t, 0);
    assert(counter == 2);
    assert(futex(&mutex, FUTEX_TRYLOCK_PI, 0) == 0);
    return 0;
}
