// expect: tso=safe pso=safe
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>
static pthread_mutex_t fast = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t dynamic;
static int x;
static void *run(void *p)
{
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
    assert(pthread_mutex_trylock(&recursive) == 0);
    x++;
    pthread_mutex_unlock(&recursive);
    pthread_mutex_unlock(&recursive);
    x++;
    pthread_mutex_unlock(&recursive);
    assert(pthread_mutex_unlock(&recursive) == EPERM);

    assert(pthread_mutex_lock(&checked) == 0);
    assert(pthread_mutex_lock(&checked) == EDEADLK);
    assert(pthread_mutex_trylock(&checked) == EBUSY);
    x++;
    assert(pthread_mutex_unlock(&checked) == 0);
    assert(pthread_mutex_unlock(&checked) == EPERM);
    return p;
}
int main(void)
{
    pthread_mutexattr_t attr;
    pthread_t t;
    int type;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutexattr_gettype(&attr, &type);
    assert(type == PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&dynamic, &attr);
    pthread_mutexattr_destroy(&attr);
    pthread_mutex_lock(&dynamic);
    pthread_mutex_lock(&dynamic);
    pthread_mutex_unlock(&dynamic);
    pthread_mutex_unlock(&dynamic);
    pthread_mutex_destroy(&dynamic);
    pthread_create(&t, 0, run, 0);
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&checked);
    x++;
    pthread_mutex_unlock(&checked);
    pthread_mutex_unlock(&recursive);
    pthread_mutex_lock(&adaptive);
    pthread_mutex_unlock(&adaptive);
    pthread_join(t, 0);
    assert(pthread_mutex_lock(&fast) == 0 && pthread_mutex_trylock(&fast) == EBUSY && pthread_mutex_unlock(&fast) == 0);
    assert(x == 4);
    return 0;
}
