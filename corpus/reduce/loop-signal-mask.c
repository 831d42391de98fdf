// expect: error
// A round blocks a signal.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x;

static void *waits(void *p)
{
    sigset_t set, now;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    while (!atomic_load(&x))
        pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    assert(!sigismember(&now, SIGUSR1));
    return p;
}

static void *writes(void *p)
{
    atomic_store(&x, 1);
    return p;
}

int main(void)
{
    pthread_t a, b;

    pthread_create(&a, NULL, waits, NULL);
    pthread_create(&b, NULL, writes, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
