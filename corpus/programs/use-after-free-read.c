// expect: error: reads memory that has been freed
// Only if the other thread is faster.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static _Atomic(int *) p;
static volatile int got;
static void *run(void *arg)
{
    int *mine = atomic_load(&p);
    if (mine)
        got = *mine;
    return arg;
}
int main(void)
{
    pthread_t t;
    int *block = malloc(sizeof *block);
    *block = 5;
    p = block;
    pthread_create(&t, 0, run, 0);
    atomic_store(&p, NULL);
    free(block);
    pthread_join(t, 0);
    return 0;
}
