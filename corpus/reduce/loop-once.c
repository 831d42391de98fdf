// expect: error
// A round calls something that is called once.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int called;

static void call(void)
{
    called = 1;
}

static void *waits(void *p)
{
    while (!atomic_load(&x))
        pthread_once(&once, call);
    assert(!called);
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
