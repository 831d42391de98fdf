// expect: tso=safe pso=safe
// library: counter.c
#include <pthread.h>
#include <assert.h>
#include <stdatomic.h>
int count_mine(void);
static atomic_int x;
static void *other(void *p)
{
    assert(count_mine() == 1);
    x++;
    assert(count_mine() == 2);
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    other(0);
    pthread_join(t, 0);
}
