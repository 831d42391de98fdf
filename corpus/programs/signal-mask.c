// expect: tso=unsafe pso=unsafe
#define _POSIX_C_SOURCE 200809L
#include <assert.h>
#include <pthread.h>
#include <signal.h>
static sigset_t old;
static long flag, seen, found;
static void *other(void *p)
{
    pthread_sigmask(SIG_BLOCK, 0, &old);
    seen = flag;
    return p;
}
int main(void)
{
    sigset_t usr1, now;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    assert(sigprocmask(SIG_BLOCK, &usr1, &now) == 0 && !sigismember(&now, SIGUSR1));
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    flag = 1;
    found = *(long *)&old;
    pthread_join(t, 0);
    assert(sigismember(&old, SIGUSR1) == 1);
    assert(pthread_sigmask(SIG_UNBLOCK, &usr1, &now) == 0 && sigismember(&now, SIGUSR1) == 1);
    assert(pthread_sigmask(77, &usr1, 0) != 0);
}
