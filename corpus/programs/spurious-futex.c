// expect: error: assertion `atomic_load(&full)`
// driver: --assume spurious-wakeups
#define _GNU_SOURCE
#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>
static atomic_int full;
static void *put(void *p)
{
    atomic_store(&full, 1);
    syscall(SYS_futex, &full, FUTEX_WAKE, 1);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, put, 0);
    if (atomic_load(&full) == 0)
        syscall(SYS_futex, &full, FUTEX_WAIT, 0, 0);
    assert(atomic_load(&full));
    pthread_join(t, 0);
    return 0;
}
