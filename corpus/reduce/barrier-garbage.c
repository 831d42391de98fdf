// expect: error
// The memory of a barrier has been used before.
#include <pthread.h>
#include <stdlib.h>
void *w(void *b)
{
    pthread_barrier_wait(b);
    return 0;
}
int main()
{
    pthread_t p;
    int *g = malloc(32);
    g[5] = 1; /* any earlier use of the memory */
    pthread_barrier_t *b = (pthread_barrier_t *)g;
    pthread_barrier_init(b, 0, 2);
    pthread_create(&p, 0, w, b);
    pthread_join(p, 0); /* nobody else arrives: deadlock */
    return 0;
}
