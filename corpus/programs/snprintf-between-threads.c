// expect: tso=safe pso=safe
// driver: --strategy exhaustive
// A hook whose frame has a clean kilobyte in it is left in the middle, and continued from a snapshot.
#include <pthread.h>
#include <stdio.h>
static char buf[32];
static int x;
static void *run(void *p)
{
    x = buf[0];
    return 0;
}
int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, run, 0);
    snprintf(buf, sizeof buf, "n%d", 7);
    pthread_create(&u, 0, run, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
