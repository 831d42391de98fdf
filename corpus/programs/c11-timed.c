// expect: tso=safe pso=safe
#include <assert.h>
#include <threads.h>
#include <time.h>
static mtx_t m;
static cnd_t c;
static int x;
static int run(void *p)
{
    struct timespec until;
    timespec_get(&until, TIME_UTC);
    int r = mtx_timedlock(&m, &until);
    assert(r == thrd_success || r == thrd_timedout);
    if (r == thrd_success) {
        x++;
        r = cnd_timedwait(&c, &m, &until);
        assert(r == thrd_success || r == thrd_timedout);
        mtx_unlock(&m);
    }
    thrd_yield();
    thrd_sleep(&until, 0);
    return 3;
}
int main(void)
{
    thrd_t t;
    int r;
    mtx_init(&m, mtx_timed);
    cnd_init(&c);
    thrd_create(&t, run, 0);
    mtx_lock(&m);
    x++;
    cnd_signal(&c);
    mtx_unlock(&m);
    thrd_join(t, &r);
    assert(r == 3 && (x == 1 || x == 2));
    return 0;
}
