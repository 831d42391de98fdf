// expect: tso=safe pso=safe
// So does a function of the program that only rests; one that counts is another matter.
#include <pthread.h>
#include <stdatomic.h>
#include <sched.h>

static atomic_int x;

static void relax(void) { __asm__ volatile("pause"); }

__attribute__((noinline)) static void rest(int rounds)
{
    if (rounds > 1000)
        sched_yield();
    else
        relax();
}

static void *run(void *arg)
{
    int rounds = 0;

    while (!atomic_load(&x))
        rest(++rounds);
    return arg;
}

int main(void)
{
    pthread_t a;

    pthread_create(&a, 0, run, 0);
    atomic_store(&x, 1);
    pthread_join(a, 0);
}
