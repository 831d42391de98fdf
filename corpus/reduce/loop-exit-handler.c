// expect: error
// A round registers something for the end of the program.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int x;
static int registered;

static void at_end(void)
{
    assert(registered < 1);
}

static void *waits(void *p)
{
    for (int i = 0; i < 2 && !atomic_load(&x); i++) {
        registered++;
        atexit(at_end);
    }
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
