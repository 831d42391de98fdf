// expect: error: stack overflows
#include <pthread.h>
static int down(int n)
{
    volatile char pad[4000];
    pad[0] = (char)n;
    return down(n + 1) + pad[0];
}
static void *run(void *p) { return (void *)(long)down(0); }
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    pthread_join(t, 0);
    return 0;
}
