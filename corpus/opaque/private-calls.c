// expect: tso=safe pso=safe
// Functions of the C library on memory of the thread's own.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <assert.h>
#include <stdatomic.h>
static atomic_int n;
static void *other(void *p)
{
    char text[] = "x=5";
    struct tm now;
    time_t zero = 0;
    int value = 0;
    assert(sscanf(text, "x=%d", &value) == 1 && value == 5);
    gmtime_r(&zero, &now);
    assert(now.tm_year == 70 && strstr(text, "=5") == text + 1 && strcasecmp(text, "X=5") == 0);
    n += value;
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    other(0);
    pthread_join(t, 0);
    assert(n == 10);
}
