// expect: tso=unsafe pso=unsafe
// library: threads.c
#include <stdatomic.h>
void start(void *(*)(void *));
void finish(void);
static atomic_int x, y;
static void *other(void *p)
{
    atomic_store_explicit(&x, 1, memory_order_release);
    (void)atomic_load(&y);
    return p;
}
int main(void)
{
    start(other);
    atomic_store_explicit(&y, 1, memory_order_release);
    (void)atomic_load(&x);
    finish();
}
