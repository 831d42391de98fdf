// expect: safe
// A barrier on the heap.
#include <pthread.h>
#include <stdlib.h>
#include <stdatomic.h>
#include <assert.h>
pthread_barrier_t *h;
void *w(void *a)
{
    pthread_barrier_wait(h);
    return 0;
}
int main()
{
    pthread_t p;
    h = malloc(sizeof *h);
    pthread_barrier_init(h, 0, 2);
    pthread_create(&p, 0, w, 0);
    pthread_barrier_wait(h);
    pthread_join(p, 0);
}
