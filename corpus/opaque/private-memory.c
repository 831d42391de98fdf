// expect: tso=safe pso=safe
// library: private.c
#include <pthread.h>
#include <assert.h>
#include <stdatomic.h>
int sum(const int *, int);
static atomic_int all;
static void *other(void *p)
{
    int mine[] = { 1, 2, 3 };
    all += sum(mine, 3);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    other(0);
    pthread_join(t, 0);
    assert(all == 12);
}
