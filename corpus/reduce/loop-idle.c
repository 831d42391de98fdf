// expect: safe
// Nothing that a round does matters: a scratch variable is overwritten before it is read.
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
    int scratch = 0, now;

    do {
        now = atomic_load(&x);
        scratch = now + 1;
    } while (now < 2);
    assert(scratch == 3);
    return p;
}

static void *writes(void *p)
{
    atomic_store(&x, 1); atomic_store(&x, 2);
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
