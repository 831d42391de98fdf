// expect: error: writes memory that may only be read
// The flag says that the page may be written, too early.
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

static atomic_int *page, ready;

static void *run(void *arg)
{
    if (atomic_load(&ready))
        atomic_fetch_add(page, 1);
    return arg;
}

int main(void)
{
    pthread_t thread;

    page = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_create(&thread, 0, run, 0);
    atomic_store(&ready, 1);
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    pthread_join(thread, 0);
}
