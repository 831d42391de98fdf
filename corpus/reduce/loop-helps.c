// expect: error
// A round that helps writes: others see it.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int x;
static atomic_int helped;

static void *waits(void *p)
{
    while (!atomic_load(&x))
        atomic_store(&helped, 1);
    return p;
}

static void *writes(void *p)
{
    int before = atomic_load(&helped); atomic_store(&x, 1); assert(!before);
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
