// expect: tso=safe pso=safe
#include <assert.h>
#include <stdlib.h>
#include <threads.h>
static mtx_t m, r;
static cnd_t c;
static tss_t key;
static once_flag flag = ONCE_FLAG_INIT;
static int ready, times, dropped;
static thread_local int own = 1;
static void init(void) { times++; }
static void drop(void *p)
{
    mtx_lock(&m);
    dropped += *(int *)p;
    mtx_unlock(&m);
    free(p);
}
static int run(void *p)
{
    call_once(&flag, init);
    int *mine = malloc(sizeof *mine);
    *mine = 1;
    tss_set(key, mine);
    assert(tss_get(key) == mine && own == 1);
    own = 2;
    mtx_lock(&r);
    assert(mtx_trylock(&r) == thrd_success);
    mtx_unlock(&r);
    mtx_unlock(&r);
    mtx_lock(&m);
    while (!ready)
        cnd_wait(&c, &m);
    mtx_unlock(&m);
    thrd_exit(7);
}
int main(void)
{
    thrd_t t;
    int result;
    assert(mtx_init(&m, mtx_plain) == thrd_success && mtx_init(&r, mtx_plain | mtx_recursive) == thrd_success);
    assert(cnd_init(&c) == thrd_success && tss_create(&key, drop) == thrd_success);
    assert(thrd_create(&t, run, 0) == thrd_success);
    call_once(&flag, init);
    mtx_lock(&m);
    ready = 1;
    cnd_broadcast(&c);
    mtx_unlock(&m);
    assert(thrd_join(t, &result) == thrd_success);
    assert(result == 7 && times == 1 && own == 1 && dropped == 1);
    mtx_destroy(&m);
    cnd_destroy(&c);
    return 0;
}
