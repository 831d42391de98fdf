// expect: tso=safe pso=safe
#include <assert.h>
#include <pthread.h>
static pthread_barrier_t b;
static int x[2], serial[2];
static void *run(void *p)
{
    long i = (long)p;
    x[i] = 1;
    serial[i] += pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD;
    assert(x[1 - i] == 1);
    serial[i] += pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD;
    x[i] = 2;
    return p;
}
int main(void)
{
    pthread_t t[2];
    pthread_barrier_init(&b, 0, 2);
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(serial[0] + serial[1] == 2);
    pthread_barrier_destroy(&b);
    return 0;
}
