// expect: error
// A round sets the value of a key.
#include <assert.h>
#include <stdlib.h>
#include "threads.h"

static atomic_int x;
static pthread_key_t key;

static void *waits(void *p)
{
    while (!atomic_load(&x))
        pthread_setspecific(key, &x);
    assert(pthread_getspecific(key) == NULL);
    return p;
}

static void *writes(void *p)
{
    atomic_store(&x, 1);
    return p;
}

int main(void)
{
    pthread_key_create(&key, NULL);
    run(2, (function *[]){ waits, writes });
    return 0;
}
