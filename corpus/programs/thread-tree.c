// expect: tso=safe pso=safe
// Seven threads: each of the upper three creates two.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int leaves;
static void *node(void *p)
{
    long depth = (long)p;
    if (depth == 0) {
        atomic_fetch_add_explicit(&leaves, 1, memory_order_relaxed);
        return (void *)1;
    }
    pthread_t t[2];
    void *r[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, node, (void *)(depth - 1));
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], &r[i]);
    return (void *)((long)r[0] + (long)r[1]);
}
int main(void)
{
    pthread_t t;
    void *r;
    pthread_create(&t, 0, node, (void *)2);
    pthread_join(t, &r);
    assert((long)r == 4 && leaves == 4);
    return 0;
}
