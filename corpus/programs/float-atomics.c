// expect: tso=safe pso=safe
// flags: -latomic
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static _Atomic double x;
static void *run(void *p) { x += 1.5; return p; }
int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(x == 3.0);
    return 0;
}
