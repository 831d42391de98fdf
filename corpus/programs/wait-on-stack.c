// expect: tso=safe pso=safe
// main waits for a variable on its own stack.
#include <pthread.h>
#include <stdatomic.h>
static void *run(void *p) { atomic_store((atomic_int *)p, 1); return p; }
int main(void)
{
    atomic_int done = 0;
    pthread_t t;
    pthread_create(&t, 0, run, &done);
    while (!atomic_load(&done))
        ;
    pthread_join(t, 0);
    return 0;
}
