// expect: tso=safe pso=safe
// More is mapped than is needed, and what does not fit is given back.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static void *run(void *arg)
{
    char *all = mmap((void *)0x200000000000, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *used = all + 2 * PAGE;

    assert(munmap(all, 2 * PAGE) == 0);
    assert(munmap(used + 2 * PAGE, 4 * PAGE) == 0);
    assert(used[0] == 0);
    used[2 * PAGE - 1] = 1;
    assert(munmap(used, 2 * PAGE) == 0);
    assert(munmap(all + 1, PAGE) == -1);
    return arg;
}

int main(void)
{
    pthread_t thread;

    pthread_create(&thread, 0, run, 0);
    run(0);
    pthread_join(thread, 0);
}
