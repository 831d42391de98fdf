// expect: error: writes memory that has been freed
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static _Atomic(int *) p;
static void *run(void *arg)
{
    int *mine = atomic_load(&p);
    if (mine)
        *mine = 1;
    return arg;
}
int main(void)
{
    pthread_t t;
    int *block = malloc(sizeof *block);
    p = block;
    pthread_create(&t, 0, run, 0);
    atomic_store(&p, NULL);
    free(block);
    pthread_join(t, 0);
    return 0;
}
