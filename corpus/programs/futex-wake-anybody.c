// expect: error: assertion `atomic_load(&first)`
#define _GNU_SOURCE
#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>
static atomic_int word, first;
static void *early(void *p)
{
    syscall(SYS_futex, &word, FUTEX_WAIT, 0, 0);
    atomic_store(&first, 1);
    return p;
}
static void *late(void *p)
{
    /* comes after the other if that waits already: so many would be moved */
    if (syscall(SYS_futex, &word, FUTEX_REQUEUE, 0, 1, &word, 0) == 1) {
        syscall(SYS_futex, &word, FUTEX_WAIT, 0, 0);
        assert(atomic_load(&first));
    }
    return p;
}
int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, early, 0);
    pthread_create(&u, 0, late, 0);
    if (syscall(SYS_futex, &word, FUTEX_REQUEUE, 0, 2, &word, 0) == 2)
        syscall(SYS_futex, &word, FUTEX_WAKE, 1);
    return 0;
}
