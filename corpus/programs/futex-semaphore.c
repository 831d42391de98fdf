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
static atomic_int value, sleepers;
static void wait_for_one(void)
{
    for (;;) {
        int seen = atomic_load(&value);
        while (seen > 0)
            if (atomic_compare_exchange_weak(&value, &seen, seen - 1))
                return;
        atomic_fetch_add(&sleepers, 1);
        futex(&value, FUTEX_WAIT, 0);
        atomic_fetch_sub(&sleepers, 1);
    }
}
static void post(void)
{
    atomic_fetch_add(&value, 1);
    if (atomic_load(&sleepers) > 0)
        futex(&value, FUTEX_WAKE, 1);
}
static void *run(void *p)
{
    wait_for_one();
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    post();
    pthread_join(t, 0);
    assert(atomic_load(&value) == 0);
    return 0;
}
