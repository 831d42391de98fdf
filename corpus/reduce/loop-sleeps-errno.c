// expect: error
// What a round sleeps is no time; only `errno` tells.
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <time.h>
#include "wait.h"

static void *waits(void *p)
{
    struct timespec time = {1, 0};

    errno = 0;
    while (!atomic_load(&x)) {
        nanosleep(&time, NULL);
        time.tv_sec = -1;
    }
    assert(errno == 0);
    return p;
}
