// expect: error: writes memory that may not be accessed
// The thread may write before it may write.
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

    page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_create(&thread, 0, run, 0);
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    pthread_join(thread, 0);
}
