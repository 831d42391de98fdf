// expect: safe
// What is written before a meeting is seen after it, and what is written after it is not seen before.
#include <assert.h>
#include "threads.h"

static pthread_barrier_t barrier;
static int data, more;

static void *writes(void *p)
{
    data = 1;
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    more = 1;
    return p;
}

static void *reads(void *p)
{
    pthread_barrier_wait(&barrier);
    assert(data == 1 && more == 0);
    pthread_barrier_wait(&barrier);
    return p;
}

int main(void)
{
    pthread_barrier_init(&barrier, NULL, 2);
    run(2, (function *[]){ writes, reads });
    return 0;
}
