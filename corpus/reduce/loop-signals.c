// expect: error
// A round wakes another thread up.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int x;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int woken;

static void *waits(void *p)
{
    while (!atomic_load(&x))
        pthread_cond_signal(&c);
    return p;
}

static void *writes(void *p)
{
    pthread_mutex_lock(&m);
    pthread_cond_wait(&c, &m);
    woken = 1;
    pthread_mutex_unlock(&m);
    assert(!woken);
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
