// expect: error: assertion `sum != 5`
// Every outcome of a choice is explored: 2 and 3 is one of twelve pairs.
#include <assert.h>
#include <pthread.h>
#include "membar.h"
static int sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *run(void *p)
{
    int n = membar_choose(p ? 3 : 4);
    pthread_mutex_lock(&lock);
    sum += n;
    pthread_mutex_unlock(&lock);
    return p;
}

int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, i ? &sum : 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(sum != 5);
}
