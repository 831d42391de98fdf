// expect: tso=unsafe pso=unsafe
// object: private.c
// The object touches nothing that threads share, so that what is found is all there is.
#include <pthread.h>
#include <assert.h>
#include <stdatomic.h>
int sum(const int *, int);
static atomic_int x, y;
static void *other(void *p)
{
    int mine[] = { 1, 2, 3 };
    assert(sum(mine, 3) == 6);
    atomic_store_explicit(&x, 1, memory_order_release);
    (void)atomic_load(&y);
    return p;
}
int main(void)
{
    pthread_t t;
    int mine[] = { 4, 5 };
    pthread_create(&t, 0, other, 0);
    atomic_store_explicit(&y, 1, memory_order_release);
    (void)atomic_load(&x);
    assert(sum(mine, 2) == 9);
    pthread_join(t, 0);
}
