// expect: error: writes memory that may only be read: byte 4099 of
// An access begins on a page that may be written, and ends on one that may not.
#include <pthread.h>
#include <sys/mman.h>

static char *pages;

static void *run(void *arg)
{
    *(volatile long *)(pages + 4092) = 1;
    return arg;
}

int main(void)
{
    pthread_t thread;

    pages = mmap(0, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + 4096, 4096, PROT_READ);
    pthread_create(&thread, 0, run, 0);
    pthread_join(thread, 0);
}
