// expect: error
// A round takes a recursive mutex that is held, and nothing else: its depth is what changes.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int x;
static pthread_mutex_t m;

static void *waits(void *p)
{
    int depth = 0;

    pthread_mutex_lock(&m);
    while (!atomic_load(&x) && depth < 2) {
        pthread_mutex_lock(&m);
        depth = depth == 0 ? 1 : 2;
    }
    depth = 0;
    while (pthread_mutex_unlock(&m) == 0)
        depth++;
    assert(depth == 1);
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

    pthread_mutexattr_t kind;

    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&m, &kind);
    pthread_create(&a, NULL, waits, NULL);
    pthread_create(&b, NULL, writes, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
