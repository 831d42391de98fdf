// expect: tso=safe pso=safe
// Pages may be emptied whatever the rights to them are, unless some are not there.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

static char *pages;
static atomic_int x;

static void *run(void *arg)
{
    x++;
    assert(mprotect(pages, 4096, PROT_READ) == 0 && mprotect(pages + 4096, 4096, PROT_NONE) == 0);
    assert(madvise(pages, 2 * 4096, MADV_DONTNEED) == 0);
    assert(mprotect(pages + 4096, 4096, PROT_READ) == 0);
    assert(pages[0] == 0 && pages[4096] == 0);
    munmap(pages + 4096, 4096);
    assert(madvise(pages, 2 * 4096, MADV_DONTNEED) == -1 && errno == ENOMEM);
    return arg;
}

int main(void)
{
    pthread_t thread;

    pages = mmap(0, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pages[0] = pages[4096] = 1;
    pthread_create(&thread, 0, run, 0);
    x++;
    pthread_join(thread, 0);
}
