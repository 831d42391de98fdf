// expect: tso=unsafe pso=unsafe
// A word and its halves.
#include <pthread.h>
static union { volatile unsigned long whole; volatile unsigned half[2]; } u;
static volatile int x;
static volatile unsigned long r0;
static volatile int r1;
static void *run(void *p)
{
    if (p) {
        u.half[1] = 1;
        r1 = x;
    } else {
        x = 1;
        r0 = u.whole;
    }
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
