// expect: tso=safe
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static void *run(void *p)
{
    char random[9] = {0};
    assert(syscall(SYS_getrandom, random, 8, 0) == 8 && random[8] == 0);
    assert((syscall(SYS_gettid) == getpid()) == (p != 0) && syscall(SYS_getpid) == getpid());
    unsigned cpu = 7, node = 7;
    assert(syscall(SYS_getcpu, &cpu, &node, 0) == 0 && cpu < 1024 && node < 1024);
    struct timespec now = {0};
    assert(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) == 0 && now.tv_sec > 0);
    assert(syscall(SYS_nanosleep, &now, 0) == 0 && syscall(SYS_sched_yield) == 0);
    cpu_set_t set;
    CPU_ZERO(&set);
    assert(syscall(SYS_sched_getaffinity, 0, sizeof set, &set) > 0 && CPU_COUNT(&set) > 0);
    assert(syscall(SYS_prctl, PR_SET_NAME, "worker", 0, 0, 0) == 0);
    int *page = (int *)syscall(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(syscall(SYS_madvise, page, 4096, MADV_WILLNEED) == 0 && page[5] == 0);
    assert(syscall(SYS_munmap, page, 4096) == 0);
    assert(syscall(SYS_membarrier, 0, 0, 0) == 0);
    assert(syscall(SYS_write, 1, "text", 4) == 4);
    assert(syscall(SYS_getuid) == getuid());
    return p;
}
int main(void)
{
    pthread_t t;
    assert(syscall(SYS_gettid) == getpid());
    pthread_create(&t, 0, run, 0);
    run((void *)1);
    pthread_join(t, 0);
    syscall(SYS_exit_group, 0);
}
