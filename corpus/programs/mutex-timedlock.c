// expect: error: assertion `late == 0`
// Both outcomes of a timed lock are explored.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int late, x;
static void *run(void *p)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    int r = pthread_mutex_timedlock(&m, &until);
    assert(r == 0 || r == ETIMEDOUT);
    if (r) {
        late = 1;
        return p;
    }
    x++;
    pthread_mutex_unlock(&m);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    pthread_mutex_lock(&m);
    x++;
    pthread_mutex_unlock(&m);
    pthread_join(t, 0);
    assert(late == 0);
    assert(x == 2);
    return 0;
}
