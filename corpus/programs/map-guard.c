// expect: tso=safe pso=safe
// A page that may not be accessed is in front of the others, in every execution.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

static char *pages;
static atomic_int x;

static void *run(void *arg)
{
    pages[4096] = 1;
    x++;
    return arg;
}

int main(void)
{
    pthread_t thread;

    pages = mmap(0, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(mprotect(pages + 4096, 2 * 4096, PROT_READ | PROT_WRITE) == 0);
    pthread_create(&thread, 0, run, 0);
    x++;
    pthread_join(thread, 0);
    assert(pages[4096] == 1 && pages[8192] == 0);
    assert(mprotect(pages + 4096, 4096, PROT_READ) == 0);
    assert(pages[4096] == 1);
    assert(madvise(pages + 8192, 4096, MADV_DONTNEED) == 0);
    munmap(pages, 3 * 4096);
}
