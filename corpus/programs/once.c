// expect: tso=safe pso=safe
#include <assert.h>
#include <pthread.h>
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int x, times;
static void init(void) { x = 42; times++; }
static void *run(void *p)
{
    pthread_once(&once, init);
    assert(x == 42);
    return p;
}
int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(times == 1);
    return 0;
}
