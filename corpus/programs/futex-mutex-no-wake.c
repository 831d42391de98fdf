// expect: error: waits to be woken
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
static atomic_int state;
static void lock(void)
{
    int seen = 0;
    if (atomic_compare_exchange_strong(&state, &seen, 1))
        return;
    while (atomic_exchange(&state, 2) != 0)
        futex(&state, FUTEX_WAIT_PRIVATE, 2);
}
static void unlock(void)
{
    /* whoever sleeps sees nothing of this */
    atomic_store(&state, 0);
}
static void *run(void *p)
{
    lock();
    unlock();
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    run(0);
    pthread_join(t, 0);
    return 0;
}
