// expect: error
// A round takes a lock for reading, and keeps it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x;
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
