// expect: error
// A round writes one element after the other, and begins again.
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
    volatile int seen[3] = { 0 };
    int i = 0;

    while (!atomic_load(&x)) {
        seen[i] = 1;
        i = (i + 1) % 3;
    }
    assert(!(seen[1] && i == 2));
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
