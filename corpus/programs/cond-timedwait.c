// expect: error: assertion `!timed_out`
// The time may be up before the signal comes, or not.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready, timed_out;
static void *run(void *p)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_mutex_lock(&m);
    if (!ready) {
        int r = pthread_cond_timedwait(&c, &m, &until);
        assert(r == 0 || r == ETIMEDOUT);
        timed_out = r != 0;
        assert(timed_out || ready);
    }
    pthread_mutex_unlock(&m);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    pthread_join(t, 0);
    assert(!timed_out);
    return 0;
}
