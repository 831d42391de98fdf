// expect: undecided: `frexpl` is not instrumented, and touches `exponent`
// flags: -O0 -lm
#include <math.h>
#include <pthread.h>
static volatile long double number = 8;
static int exponent, flag, seen, found;
static void *other(void *p)
{
    frexpl(number, &exponent);
    seen = flag;
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    flag = 1;
    found = exponent;
    pthread_join(t, 0);
}
