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
static atomic_int gate;
static void *run(void *p)
{
    while (atomic_load(&gate) == 0)
        syscall(SYS_futex, &gate, FUTEX_WAIT_BITSET, 0, 0, 0, 1);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    atomic_store(&gate, 1);
    syscall(SYS_futex, &gate, FUTEX_WAKE_BITSET, 1, 0, 0, 2);
    pthread_join(t, 0);
    return 0;
}
