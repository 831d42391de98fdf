// expect: error
// A round that fails leaves its mark in errno.
#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include "threads.h"

static atomic_int x;
static sem_t s;

static void *waits(void *p)
{
    errno = 0;
    while (sem_trywait(&s) != 0)
        ;
    assert(errno == 0);
    return p;
}

static void *writes(void *p)
{
    sem_post(&s);
    return p;
}

int main(void)
{
    sem_init(&s, 0, 0);
    run(2, (function *[]){ waits, writes });
    return 0;
}
