// expect: error: reads memory that has been unmapped
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

static char *pages;
static atomic_int done;

static void *run(void *arg)
{
    if (!done)
        return (void *)(long)pages[5000];
    return arg;
}

int main(void)
{
    pthread_t thread;

    pages = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_create(&thread, 0, run, 0);
    done = 1;
    munmap(pages + 4096, 4096);
    pthread_join(thread, 0);
}
