// expect: tso=safe pso=safe
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static pthread_key_t key, other;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int freed;
static void destroy(void *p)
{
    assert(*(int *)p == 9);
    free(p);
    pthread_mutex_lock(&m);
    freed++;
    pthread_mutex_unlock(&m);
}
static void *run(void *p)
{
    assert(pthread_getspecific(key) == 0);
    int *mine = malloc(sizeof *mine);
    *mine = 9;
    pthread_setspecific(key, mine);
    pthread_setspecific(other, p);
    assert(pthread_getspecific(key) == mine && pthread_getspecific(other) == p);
    return p;
}
int main(void)
{
    pthread_t t[2];
    pthread_key_create(&key, destroy);
    pthread_key_create(&other, 0);
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(freed == 2 && pthread_getspecific(key) == 0);
    pthread_key_delete(key);
    return 0;
}
