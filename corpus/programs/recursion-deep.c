// expect: tso=safe pso=safe
// A stack of 10,000 frames in two threads, with a shared counter at the bottom.
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int total;
static int down(int n)
{
    volatile char pad[100];
    pad[0] = (char)n;
    if (n > 0)
        return down(n - 1) + pad[0] - (char)n;
    pthread_mutex_lock(&m);
    int now = ++total;
    pthread_mutex_unlock(&m);
    return now;
}
static void *run(void *p) { return (void *)(long)down(10000); }
int main(void)
{
    pthread_t t[2];
    void *r[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], &r[i]);
    assert((long)r[0] + (long)r[1] == 3 && total == 2);
    return 0;
}
