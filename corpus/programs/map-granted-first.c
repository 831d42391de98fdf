// expect: tso=safe pso=safe
// The flag says that the page may be read and written, and so it is; two threads change it under a lock.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

static int *page, *other;
static atomic_int ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void add(void)
{
    pthread_mutex_lock(&lock);
    mprotect(other, 4096, PROT_READ | PROT_WRITE);
    ++*other;
    mprotect(other, 4096, PROT_NONE);
    pthread_mutex_unlock(&lock);
}

static void *run(void *arg)
{
    if (atomic_load(&ready))
        *page = 1;
    add();
    return arg;
}

int main(void)
{
    pthread_t thread;

    page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    other = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_create(&thread, 0, run, 0);
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    atomic_store(&ready, 1);
    add();
    pthread_join(thread, 0);
    mprotect(other, 4096, PROT_READ);
    assert(*other == 2);
}
