// expect: tso=unsafe pso=unsafe
// flags: -O0 -lm
#define _GNU_SOURCE
#include <assert.h>
#include <math.h>
#include <pthread.h>
static double whole;
static int flag, seen, found;
static void *other(void *p)
{
    modf(3.5, &whole);
    seen = flag;
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    flag = 1;
    found = whole > 0;
    pthread_join(t, 0);
    int exponent, quotient;
    float part;
    double sine, cosine;
    assert(whole == 3 && modff(-2.25f, &part) == -0.25f && part == -2);
    assert(frexp(8, &exponent) == 0.5 && exponent == 4 && frexpf(3, &exponent) == 0.75f && exponent == 2);
    assert(remquo(7, 2, &quotient) == -1 && (quotient & 7) == 4 && remquof(5, 3, &quotient) == -1);
    sincos(1.5, &sine, &cosine);
    assert(sine == sin(1.5) && cosine == cos(1.5));
}
