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
static atomic_int word = 1;
static void *run(void *p)
{
    /* it is 1 or 2, so nobody sleeps */
    assert(futex(&word, FUTEX_WAIT, 0) == -1 && errno == EAGAIN);
    assert(futex((atomic_int *)((char *)&word + 1), FUTEX_WAIT, 0) == -1 && errno == EINVAL);
    assert(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, 0, 0, 0) == -1 && errno == EINVAL);
    assert(futex(&word, 100, 0) == -1 && errno == ENOSYS);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    atomic_store(&word, 2);
    assert(futex(&word, FUTEX_WAKE, 1) == 0);
    pthread_join(t, 0);
    return 0;
}
