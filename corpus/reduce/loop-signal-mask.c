// expect: error
// A round blocks a signal.
#include <assert.h>
#include <signal.h>
#include <stddef.h>
#include "wait.h"

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
