// expect: error
// counts: fewer
// Locks in two orders, by threads that draw theirs: a deadlock.
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, k = PTHREAD_MUTEX_INITIALIZER;
int c;
void *f(void *_)
{
    pthread_mutex_lock(&m);
    c++;
    int odd = c & 1;
    pthread_mutex_unlock(&m);
    if (odd) {
        pthread_mutex_lock(&m);
        pthread_mutex_lock(&k);
    } else {
        pthread_mutex_lock(&k);
        pthread_mutex_lock(&m);
    }
    c++;
    pthread_mutex_unlock(&m);
    pthread_mutex_unlock(&k);
    return 0;
}
int main(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, f, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return 0;
}
