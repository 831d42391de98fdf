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
static atomic_int a, b = 5;
static void *run(void *p)
{
    while (atomic_load(&a) == 0)
        futex(&a, FUTEX_WAIT, 0);
    while (atomic_load(&b) == 5)
        futex(&b, FUTEX_WAIT, 5);
    assert(atomic_load(&b) == 7);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    atomic_store(&a, 1);
    int operation = FUTEX_OP(FUTEX_OP_ADD, 2, FUTEX_OP_CMP_EQ, 5);
    syscall(SYS_futex, &a, FUTEX_WAKE_OP, 1, 1, &b, operation);
    pthread_join(t, 0);
    return 0;
}
