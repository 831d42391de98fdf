// expect: error
// A round prints into a buffer.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

static atomic_int x;
static char text[64];

static void *waits(void *p)
{
    while (!atomic_load(&x))
        snprintf(text, sizeof text, "%d", 7);
    assert(text[0] == 0);
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
