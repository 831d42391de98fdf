// expect: error: twice
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static _Atomic(int *) p;
static void *run(void *arg)
{
    int *mine = atomic_load(&p);
    if (mine) {
        atomic_store(&p, NULL);
        free(mine);
    }
    return arg;
}
int main(void)
{
    pthread_t t[2];
    p = malloc(sizeof(int));
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
