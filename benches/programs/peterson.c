/* Peterson's lock, N rounds, waiting as long as it takes. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static atomic_int wants[2], turn;
static int inside;

static void *run(void *p)
{
    int me = p != NULL;

    for (int i = 0; i < N; i++) {
        atomic_store(&wants[me], 1);
        atomic_store(&turn, 1 - me);
        while (atomic_load(&wants[1 - me]) && atomic_load(&turn) == 1 - me)
            ;
        inside++;
        assert(inside == 1);
        inside--;
        atomic_store(&wants[me], 0);
    }
    return NULL;
}

int main(void)
{
    pthread_t a, b;

    pthread_create(&a, NULL, run, NULL);
    pthread_create(&b, NULL, run, &turn);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
