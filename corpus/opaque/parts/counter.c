#include <pthread.h>
static int calls;
static __thread int mine;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int count(void) { return ++calls; }
int count_mine(void) { return ++mine; }
int count_locked(void)
{
    pthread_mutex_lock(&lock);
    int now = ++calls;
    pthread_mutex_unlock(&lock);
    return now;
}
