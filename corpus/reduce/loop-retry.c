// expect: safe
// A retry loop whose failed tries change nothing.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int x;
static atomic_int y;

static void *waits(void *p)
{
    int old, new;

    do {
        old = atomic_load(&x);
        new = old + atomic_load(&y);
    } while (!atomic_compare_exchange_strong(&x, &old, new + 1));
    assert(new >= old);
    return p;
}

static void *writes(void *p)
{
    atomic_fetch_add(&x, 1); atomic_fetch_add(&y, 1);
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
