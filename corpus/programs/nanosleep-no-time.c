// expect: tso=safe pso=safe
// What is no time is refused, in the ways that the functions have.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <threads.h>
#include <time.h>

static atomic_int x;

static void *run(void *arg)
{
    struct timespec right = {1, 999999999}, nanos = {1, 1000000000}, seconds = {-1, 0}, both = {0, -1};

    x++;
    assert(nanosleep(&right, 0) == 0 && thrd_sleep(&right, 0) == 0);
    assert(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &right, 0) == 0);
    errno = 0;
    assert(clock_nanosleep(CLOCK_MONOTONIC, 0, &nanos, 0) == EINVAL && errno == 0);
    assert(nanosleep(&seconds, 0) == -1 && errno == EINVAL);
    assert(thrd_sleep(&both, 0) < -1);
    return arg;
}

int main(void)
{
    pthread_t thread;

    pthread_create(&thread, 0, run, 0);
    x++;
    pthread_join(thread, 0);
}
