// expect: error
// options: --races on
// A thread writes after the meeting what another one reads after it, however late that departs.
#include "threads.h"

static pthread_barrier_t barrier;
static int data;

static void *writes(void *p)
{
    pthread_barrier_wait(&barrier);
    data = 1;
    pthread_barrier_wait(&barrier);
    return p;
}

static void *reads(void *p)
{
    pthread_barrier_wait(&barrier);
    int seen = data;
    pthread_barrier_wait(&barrier);
    return seen ? p : NULL;
}

int main(void)
{
    pthread_barrier_init(&barrier, NULL, 2);
    run(2, (function *[]){ writes, reads });
    return 0;
}
