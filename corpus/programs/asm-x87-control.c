// expect: undecided: changes how the x87 calculates
// A round changes how the x87 rounds.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;

static void *waits(void *arg)
{
    unsigned short word;

    while (!atomic_load(&x)) {
        __asm__ volatile("fnstcw %0" : "=m"(word));
        word ^= 0x400;
        __asm__ volatile("fldcw %0" : : "m"(word));
        word = 0;
    }
    __asm__ volatile("fnstcw %0" : "=m"(word));
    assert(!(word & 0x400));
    return arg;
}

int main(void)
{
    pthread_t thread;

    pthread_create(&thread, 0, waits, 0);
    atomic_store(&x, 1);
    pthread_join(thread, 0);
}
