// expect: tso=unsafe pso=unsafe
// only: clang
#include <pthread.h>
static long double x, y, seen, found;
static void *other(void *p)
{
    x = 1;
    seen = y;
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    y = 1;
    found = x;
    pthread_join(t, 0);
}
