// expect: error: writes memory that may only be read
// It may be sealed before the thread writes.
#include <pthread.h>
#include <sys/mman.h>

static int *page;

static void *run(void *arg)
{
    *page = 1;
    return arg;
}

int main(void)
{
    pthread_t thread;

    page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *page = 0;
    pthread_create(&thread, 0, run, 0);
    mprotect(page, 4096, PROT_READ);
    pthread_join(thread, 0);
}
