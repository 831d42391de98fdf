// expect: error
// What a called function read is kept by its caller.
#include <assert.h>
#include "threads.h"

static atomic_int x;
struct pair { int first, second; };

static int done(struct pair *pair)
{
    pair->second = pair->first;
    pair->first = atomic_load(&x);
    return pair->first == 2;
}

static void *waits(void *p)
{
    struct pair pair = { 0, 0 };

    while (!done(&pair))
        ;
    assert(pair.second != 1);
    return p;
}

static void *writes(void *p)
{
    atomic_store(&x, 1); atomic_store(&x, 2);
    return p;
}

int main(void)
{
    run(2, (function *[]){ waits, writes });
    return 0;
}
