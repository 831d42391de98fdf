// fails: ends while it holds the mutex
// The way out for what cannot happen forgets the mutex.
#include "alone.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int inside;

static void *run(void *p)
{
    if (!alone((int)(intptr_t)p))
        return NULL;
    pthread_mutex_lock(&mutex);
    if (inside++)
        return NULL;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(void)
{
    threads(2, run);
    return 0;
}
