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
/* 0 free, 1 held, 2 held and somebody may wait */
static atomic_int state;
static int counter;
static void lock(void)
{
    int seen = 0;
    if (atomic_compare_exchange_strong(&state, &seen, 1))
        return;
    if (seen != 2)
        seen = atomic_exchange(&state, 2);
    while (seen != 0) {
        futex(&state, FUTEX_WAIT_PRIVATE, 2);
        seen = atomic_exchange(&state, 2);
    }
}
static void unlock(void)
{
    if (atomic_exchange(&state, 0) == 2)
        futex(&state, FUTEX_WAKE_PRIVATE, 1);
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
