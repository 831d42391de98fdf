// expect: tso=safe pso=safe
// Handlers run in the thread that calls exit; main waits for a lock that nobody will release.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x;
static void last(void) { assert(x == 2); }
static void first(void) { x = 2; }
static void *run(void *p)
{
    pthread_mutex_lock(&m);
    exit(0);
}
int main(void)
{
    pthread_t t;
    atexit(last);
    atexit(first);
    pthread_create(&t, 0, run, 0);
    pthread_join(t, 0);
    return 1;
}
