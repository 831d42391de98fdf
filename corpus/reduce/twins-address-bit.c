// expect: error
// counts: same
// A thread goes its way by the address of a variable that nobody else knows.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

static atomic_int arrived, bad;

static void *run(void *p)
{
    int local;
    volatile uintptr_t address = (uintptr_t)&local;
    int odd = (address >> 21) & 1;

    if (atomic_fetch_add(&arrived, 1) == 1 && !odd)
        atomic_store(&bad, 1);
    return p;
}

int main(void)
{
    pthread_t a, b;

    pthread_create(&a, NULL, run, NULL);
    pthread_create(&b, NULL, run, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(!bad);
    return 0;
}
