// fails: waits for `wake`
// Lost wake-up: the one sees no sleeper, the other one no work, and sleeps.
#include "alone.h"
#include <semaphore.h>

static sem_t wake;

static void *run(void *p)
{
    int me = (int)(intptr_t)p;
    int none = alone(me);

    if (me == 0 && !none)
        sem_post(&wake);
    if (me == 1 && none)
        sem_wait(&wake);
    return NULL;
}

int main(void)
{
    sem_init(&wake, 0, 0);
    threads(2, run);
    return 0;
}
