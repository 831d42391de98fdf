// expect: error: assertion `result != 0`
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
static atomic_int word;
static int result, error;
static void *run(void *p)
{
    struct timespec limit = {0, 1000};
    errno = 0;
    result = syscall(SYS_futex, &word, FUTEX_WAIT, 0, &limit, 0, 0);
    error = errno;
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    atomic_store(&word, 1);
    long woken = syscall(SYS_futex, &word, FUTEX_WAKE, 1, 0, 0, 0);
    pthread_join(t, 0);
    assert(woken == (result == 0));
    assert(result != 0);
    return 0;
}
