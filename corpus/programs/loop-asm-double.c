// expect: error: assertion
// flags: -O2
// What a round did is in a register for numbers, that assembly leaves alone.
#include <assert.h>
#include <pthread.h>

static int x;

static void *waits(void *arg)
{
    double rounds = 0;
    int seen;

    for (;;) {
        __asm__ volatile("movl %1, %0" : "=r"(seen) : "m"(x));
        if (seen)
            break;
        rounds += 1;
    }
    assert(rounds != 2);
    return arg;
}

int main(void)
{
    pthread_t thread;
    int one = 1;

    pthread_create(&thread, 0, waits, 0);
    __asm__ volatile("xchgl %0, %1" : "+r"(one), "+m"(x) : : "memory");
    pthread_join(thread, 0);
}
