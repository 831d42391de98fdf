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
static atomic_int a, b;
static void *run(void *p)
{
    futex(&a, FUTEX_WAIT, 0);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    atomic_store(&a, 1);
    /* who is moved waits at `b` from now on, and nobody is woken there */
    syscall(SYS_futex, &a, FUTEX_REQUEUE, 0, 1, &b, 0);
    futex(&a, FUTEX_WAKE, 1);
    pthread_join(t, 0);
    return 0;
}
