// expect: tso=safe pso=safe
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
__attribute__((weak)) int not_there(void);
__attribute__((weak)) int there(void) { return atomic_fetch_add(&x, 1); }
static inline int inlined(void) { return there() + 1; }
static void *run(void *p)
{
    assert(not_there == 0);
    assert(inlined() >= 1);
    return p;
}

int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
