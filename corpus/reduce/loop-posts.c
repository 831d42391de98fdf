// expect: error
// Each round gives a semaphore one more; a third is too many.
#include <assert.h>
#include <semaphore.h>
#include "threads.h"

static atomic_int x;
static sem_t sem;

static void *waits(void *p)
{
    int n = 0;

    while (!atomic_load(&x) && n < 3) {
        sem_post(&sem);
        sem_getvalue(&sem, &n);
    }
    assert(n < 3);
    return p;
}

static void *writes(void *p)
{
    atomic_store(&x, 1);
    return p;
}

int main(void)
{
    sem_init(&sem, 0, 0);
    run(2, (function *[]){ waits, writes });
    return 0;
}
