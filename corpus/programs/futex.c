// expect: tso=safe pso=safe
#define _GNU_SOURCE
#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>
static atomic_int f;
static int data;
static void *run(void *p)
{
    while (atomic_load(&f) == 0)
        syscall(SYS_futex, &f, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
    assert(data == 1);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    data = 1;
    atomic_store(&f, 1);
    syscall(SYS_futex, &f, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
    pthread_join(t, 0);
    return 0;
}
