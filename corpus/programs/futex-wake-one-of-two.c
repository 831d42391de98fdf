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
static atomic_int gate;
static void *run(void *p)
{
    while (atomic_load(&gate) == 0)
        futex(&gate, FUTEX_WAIT_PRIVATE, 0);
    return p;
}
int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, run, 0);
    pthread_create(&u, 0, run, 0);
    atomic_store(&gate, 1);
    futex(&gate, FUTEX_WAKE_PRIVATE, 1);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
