// expect: tso=safe pso=safe
// As Boost's spin lock waits: a pause first, then sleeps, whose time clang fills in with `memset`.
#include <pthread.h>
#include <time.h>

static unsigned char flag;
static int count;

inline void pause_once() { __asm__ __volatile__("rep; nop" ::: "memory"); }

inline void sleep_a_little()
{
    struct timespec time = {0, 0};

    time.tv_nsec = 1000;
    nanosleep(&time, 0);
}

inline void yield(unsigned rounds)
{
    if (rounds == 0)
        pause_once();
    else
        sleep_a_little();
}

static void *run(void *arg)
{
    for (unsigned rounds = 0; __atomic_test_and_set(&flag, __ATOMIC_ACQUIRE); ++rounds)
        yield(rounds);
    count++;
    __atomic_clear(&flag, __ATOMIC_RELEASE);
    return arg;
}

int main()
{
    pthread_t a, b;

    pthread_create(&a, 0, run, 0);
    pthread_create(&b, 0, run, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return count != 2;
}
