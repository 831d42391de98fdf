// expect: error: frees memory that `munmap` gives back
// A mapping is no block of the heap.
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

static void *run(void *page)
{
    free(page);
    return 0;
}

int main(void)
{
    pthread_t thread;
    void *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    pthread_create(&thread, 0, run, page);
    pthread_join(thread, 0);
}
