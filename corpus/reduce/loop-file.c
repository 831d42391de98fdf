// expect: error
// Each round opens a file, and closes none.
#include <assert.h>
#include <fcntl.h>
#include <unistd.h>
#include "wait.h"

static void *waits(void *p)
{
    int first = open("/dev/null", O_RDONLY), last = first;

    while (!atomic_load(&x) && last < first + 2)
        last = open("/dev/null", O_RDONLY);
    assert(last < first + 2);
    return p;
}
