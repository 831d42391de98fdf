// expect: tso=safe pso=safe
#include <assert.h>
#include <errno.h>
#include <pthread.h>
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static int a, b;
static void *reader(void *p)
{
    pthread_rwlock_rdlock(&l);
    assert(a == b);
    pthread_rwlock_unlock(&l);
    return p;
}
int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, reader, 0);
    pthread_rwlock_wrlock(&l);
    assert(pthread_rwlock_tryrdlock(&l) == EBUSY);
    a++;
    b++;
    pthread_rwlock_unlock(&l);
    if (pthread_rwlock_trywrlock(&l) == 0) {
        a++;
        b++;
        pthread_rwlock_unlock(&l);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(pthread_rwlock_rdlock(&l) == 0 && pthread_rwlock_tryrdlock(&l) == 0);
    assert(pthread_rwlock_trywrlock(&l) == EBUSY);
    pthread_rwlock_unlock(&l);
    pthread_rwlock_unlock(&l);
    return 0;
}
