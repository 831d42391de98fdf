// expect: tso=safe pso=unsafe
#include <pthread.h>
static volatile int data, flag, seen;
static void *a(void *p) { data = 42; flag = 1; return p; }
static void *b(void *p) { if (flag) seen = data; return p; }
int main(void)
{
    pthread_t t[2];
    pthread_create(&t[0], 0, a, 0);
    pthread_create(&t[1], 0, b, 0);
    pthread_join(t[0], 0);
    pthread_join(t[1], 0);
    return 0;
}
