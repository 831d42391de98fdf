// expect: tso=safe pso=safe
// A time with too many nanoseconds is none.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
int main(void) {
    struct timespec time = {0, 2000000000};
    sem_t s;
    sem_init(&s, 0, 0);
    pthread_mutex_lock(&m);
    assert(pthread_cond_timedwait(&c, &m, &time) == EINVAL);
    assert(pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &time) == EINVAL);
    pthread_mutex_unlock(&m);
    assert(pthread_mutex_timedlock(&m, &time) == 0);
    pthread_mutex_unlock(&m);
    assert(pthread_rwlock_timedrdlock(&l, &time) == EINVAL);
    assert(pthread_rwlock_timedwrlock(&l, &time) == EINVAL);
    assert(sem_timedwait(&s, &time) == -1 && errno == EINVAL);
    return 0;
}
