// expect: tso=unsafe pso=unsafe
// How long to sleep is read.
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <time.h>
static int x, found;
static struct timespec pause_for;
static void *other(void *p)
{
    x = 1;
    nanosleep(&pause_for, 0);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    pause_for.tv_nsec = 1;
    found = x;
    pthread_join(t, 0);
}
