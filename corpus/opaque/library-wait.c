// expect: tso=safe pso=safe
// library: memory.c
// The flag that is waited for is in memory that the library allocated.
#include <pthread.h>
#include <stdatomic.h>
void *from_heap(void);
static atomic_int *f;
static void *other(void *p) { atomic_store(f, 1); return p; }
int main(void)
{
    pthread_t t;
    f = from_heap();
    pthread_create(&t, 0, other, 0);
    while (!atomic_load(f))
        ;
    pthread_join(t, 0);
}
