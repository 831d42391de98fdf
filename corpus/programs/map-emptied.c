// expect: error: assertion
// The contents may be gone before the thread looks.
#include <assert.h>
#include <pthread.h>
#include <sys/mman.h>

static int *page;

static void *run(void *arg)
{
    assert(*page == 1);
    return arg;
}

int main(void)
{
    pthread_t thread;

    page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *page = 1;
    pthread_create(&thread, 0, run, 0);
    madvise(page, 4096, MADV_DONTNEED);
    pthread_join(thread, 0);
}
