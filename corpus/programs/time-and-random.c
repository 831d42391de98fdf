// expect: tso=safe pso=safe
// The same in every execution.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
static atomic_long sum;
static void *run(void *p)
{
    struct timespec a, b;
    struct timeval v;
    clock_gettime(CLOCK_MONOTONIC, &a);
    clock_gettime(CLOCK_MONOTONIC, &b);
    assert(b.tv_sec > a.tv_sec || b.tv_nsec > a.tv_nsec);
    gettimeofday(&v, 0);
    srand(5);
    long mine = rand() % 100 + time(0) % 100 + clock() % 10 + getpid() % 10 + v.tv_usec % 10;
    unsigned char byte;
    assert(getrandom(&byte, 1, 0) == 1);
    if ((mine + byte) % 2)
        sum += mine;
    else
        sum -= mine;
    usleep(10);
    return p;
}

int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
