// fails: T2 waits for
// The same with a waiting loop.
#include "alone.h"

static atomic_int wake;

static void *run(void *p)
{
    int me = (int)(intptr_t)p;
    int none = alone(me);

    if (me == 0 && !none)
        store(&wake, 1, rel);
    if (me == 1 && none)
        while (!load(&wake, acq))
            ;
    return NULL;
}

int main(void)
{
    threads(2, run);
    return 0;
}
