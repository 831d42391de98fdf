// expect: tso=undecided pso=undecided
// says: is not instrumented, and touches `n`
#include <pthread.h>
#include <stdio.h>
static int n;
static void *other(void *p) { sscanf("7", "%d", &n); return p; }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    (void)*(volatile int *)&n;
    pthread_join(t, 0);
}
