// expect: error: assertion
// library: callback.c
// The library calls the program back, whose accesses are seen.
#include <pthread.h>
#include <assert.h>
void twice(void (*)(void *), void *);
static int n;
static void add(void *p) { n += *(int *)p; }
static void *other(void *p)
{
    int one = 1;
    twice(add, &one);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    other(0);
    pthread_join(t, 0);
    assert(n == 4);
}
