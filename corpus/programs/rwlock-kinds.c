// expect: tso=safe pso=safe
// A lock that prefers writers is a lock like any other to those who take it once; one that does not may be taken again.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
static pthread_rwlock_t writers, readers = PTHREAD_RWLOCK_INITIALIZER;
static int a, b;
static void *run(void *p) {
    pthread_rwlock_wrlock(&writers);
    a = b = 1;
    pthread_rwlock_unlock(&writers);
    pthread_rwlock_wrlock(&readers);
    pthread_rwlock_unlock(&readers);
    return p;
}
int main(void) {
    pthread_rwlockattr_t kind;
    pthread_t t;
    pthread_rwlockattr_init(&kind);
    pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&writers, &kind);
    assert(pthread_rwlock_trywrlock(&writers) == 0);
    assert(pthread_rwlock_tryrdlock(&writers) == EBUSY);
    pthread_rwlock_unlock(&writers);
    pthread_create(&t, 0, run, 0);
    pthread_rwlock_rdlock(&writers);
    assert(a == b);
    pthread_rwlock_unlock(&writers);
    if (pthread_rwlock_tryrdlock(&writers) == 0)
        pthread_rwlock_unlock(&writers);
    pthread_rwlock_rdlock(&readers);
    pthread_rwlock_rdlock(&readers);
    pthread_rwlock_unlock(&readers);
    pthread_rwlock_unlock(&readers);
    pthread_join(t, 0);
    assert(pthread_rwlock_destroy(&writers) == 0);
    return 0;
}
