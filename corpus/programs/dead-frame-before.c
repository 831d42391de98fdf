// expect: error: in a function that has returned
// The function is over before there is another thread.
#include <pthread.h>
#include <stdatomic.h>

static _Atomic(int *) p;

__attribute__((noinline)) static void publish(void)
{
    int local = 3;

    p = &local;
}

static void *run(void *arg)
{
    int *q = p;

    *q = 7;
    return arg;
}

int main(void)
{
    pthread_t thread;

    publish();
    pthread_create(&thread, 0, run, 0);
    pthread_join(thread, 0);
}
