// expect: error
// A round sets the value of a key.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

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
    pthread_t a, b;

    pthread_key_create(&key, NULL);
    pthread_create(&a, NULL, waits, NULL);
    pthread_create(&b, NULL, writes, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
