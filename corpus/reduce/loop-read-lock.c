// expect: error
// A round takes a lock for reading, and keeps it.
#include <assert.h>
#include <stddef.h>
#include "wait.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *waits(void *p)
{
    int held = 0;

    while (!atomic_load(&x))
        if (!held) {
            pthread_rwlock_rdlock(&lock);
            held = 1;
        }
    assert(pthread_rwlock_trywrlock(&lock) == 0);
    return p;
}
