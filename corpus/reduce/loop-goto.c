// expect: error
// A wait written with goto, that remembers the way it came.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int x;

static void *waits(void *p)
{
    int way = 0;

    again:
    if (atomic_load(&x) == 1)
        goto out;
    way |= 1;
    if (atomic_load(&x) == 1)
        goto out;
    way |= 2;
    goto again;
    out:
    assert(way != 3);
    return p;
}

static void *writes(void *p)
{
    atomic_store(&x, 1);
    return p;
}

int main(void)
{
    pthread_t a, b;

    pthread_create(&a, NULL, waits, NULL);
    pthread_create(&b, NULL, writes, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
