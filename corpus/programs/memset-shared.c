// expect: tso=safe pso=unsafe
#include <pthread.h>
#include <string.h>
static char a[16];
static volatile int seen;
static void *run(void *p)
{
    if (p)
        seen = a[15] ? a[0] + 1 : 0;
    else
        memset(a, 7, sizeof a);
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
