// expect: tso=safe pso=safe
// library: counter.c
// What a library keeps is put back for each execution. It is called while nobody else runs.
#include <pthread.h>
#include <assert.h>
#include <stdatomic.h>
int count(void);
static atomic_int x;
static void *other(void *p) { x++; return p; }
int main(void)
{
    pthread_t t;
    assert(count() == 1);
    pthread_create(&t, 0, other, 0);
    x++;
    pthread_join(t, 0);
    assert(count() == 2);
}
