// expect: tso=safe pso=safe
// A thread is joined by another one than its creator.
#include <assert.h>
#include <pthread.h>
static pthread_t inner;
static int x;
static void *leaf(void *p) { x = 7; return (void *)7; }
static void *outer(void *p) { pthread_create(&inner, 0, leaf, 0); return p; }
int main(void)
{
    pthread_t t;
    void *r;
    pthread_create(&t, 0, outer, 0);
    pthread_join(t, 0);
    pthread_join(inner, &r);
    assert(r == (void *)7 && x == 7);
    return 0;
}
