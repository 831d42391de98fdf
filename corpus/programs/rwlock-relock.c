// expect: tso=safe pso=safe
// Who writes is told that it would wait for itself.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static void *run(void *arg) {
    pthread_rwlock_wrlock(&l);
    assert(pthread_rwlock_wrlock(&l) == EDEADLK);
    assert(pthread_rwlock_rdlock(&l) == EDEADLK);
    assert(pthread_rwlock_tryrdlock(&l) == EBUSY);
    pthread_rwlock_unlock(&l);
    return arg;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, run, 0);
    pthread_create(&b, 0, run, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
