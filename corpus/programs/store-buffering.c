// expect: tso=unsafe pso=unsafe
#include <pthread.h>
static volatile int x, y, r0, r1;
static void *a(void *p) { x = 1; r0 = y; return p; }
static void *b(void *p) { y = 1; r1 = x; return p; }
int main(void)
{
    pthread_t t[2];
    pthread_create(&t[0], 0, a, 0);
    pthread_create(&t[1], 0, b, 0);
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    return 0;
}
