// expect: error
// A round calls something that is called once.
#include <assert.h>
#include <stddef.h>
#include "wait.h"

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
