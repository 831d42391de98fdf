// expect: error: assertion `full`
// driver: --assume spurious-wakeups
#include <assert.h>
#include <threads.h>
static mtx_t m;
static cnd_t c;
static int full;
static int put(void *p)
{
    mtx_lock(&m);
    full = 1;
    cnd_signal(&c);
    mtx_unlock(&m);
    return 0;
}
int main(void)
{
    thrd_t t;
    mtx_init(&m, mtx_plain);
    cnd_init(&c);
    thrd_create(&t, put, 0);
    mtx_lock(&m);
    if (!full)
        cnd_wait(&c, &m);
    assert(full);
    mtx_unlock(&m);
    thrd_join(t, 0);
    return 0;
}
