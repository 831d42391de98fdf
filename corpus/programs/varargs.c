// expect: tso=safe pso=safe
#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
static atomic_int total;
static double add(int n, ...)
{
    va_list v;
    double sum = 0;
    va_start(v, n);
    for (int i = 0; i < n; i++)
        sum += i % 2 ? va_arg(v, double) : va_arg(v, int);
    va_end(v);
    total += (int)sum;
    return sum;
}
static void *run(void *p)
{
    assert(add(10, 1, 2.0, 3, 4.0, 5, 6.0, 7, 8.0, 9, 10.0) == 55.0);
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
