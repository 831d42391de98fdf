// expect: error
// A round doubles how long to sleep, until that is no time any more and is refused.
#include <assert.h>
#include <stddef.h>
#include <time.h>
#include "wait.h"

static void *waits(void *p)
{
    struct timespec time = {0, 300000000};
    int refused = 0;

    while (!atomic_load(&x)) {
        refused = nanosleep(&time, NULL);
        if (time.tv_nsec < 1000000000)
            time.tv_nsec *= 2;
    }
    assert(!refused);
    return p;
}
