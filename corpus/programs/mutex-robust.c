// expect: tso=safe pso=safe
// A robust mutex: who takes it after its owner has ended is told so, and makes it usable again or not.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
static pthread_mutex_t kept, lost;
static int value;
static void *ends(void *p)
{
    assert(pthread_mutex_lock(&kept) == 0 && pthread_mutex_lock(&lost) == 0);
    value = 1;
    return p;
}
static void *takes(void *p)
{
    int result = pthread_mutex_lock(&kept);
    assert(result == 0 || result == EOWNERDEAD);
    if (result == EOWNERDEAD)
        assert(value == 1 && pthread_mutex_consistent(&kept) == 0 && pthread_mutex_consistent(&kept) == EINVAL);
    assert(pthread_mutex_unlock(&kept) == 0);
    return p;
}
int main(void)
{
    pthread_mutexattr_t robust;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&kept, &robust);
    pthread_mutex_init(&lost, &robust);
    pthread_t t[2];
    pthread_create(&t[0], 0, ends, 0);
    pthread_create(&t[1], 0, takes, 0);
    pthread_join(t[0], 0);
    assert(pthread_mutex_trylock(&lost) == EOWNERDEAD);
    assert(pthread_mutex_unlock(&lost) == 0);
    assert(pthread_mutex_lock(&lost) == ENOTRECOVERABLE && pthread_mutex_trylock(&lost) == ENOTRECOVERABLE);
    pthread_join(t[1], 0);
    int result = pthread_mutex_lock(&kept);
    assert(result == 0 || result == EOWNERDEAD);
    return 0;
}
