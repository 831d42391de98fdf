// fails: assertion `!(found[0] && found[1])` fails
// Both find themselves alone, one after it has held a lock that the other one has tried to get. What they look at while it does may be
// stale in the right program too.
#include "alone.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int found[2];
static atomic_int seen[2];

static void glance(int me)
{
    store(&seen[me], 1, rlx);
    load(&seen[!me], rlx);
}

static void *run(void *p)
{
    int me = (int)(intptr_t)p;

    if (me == 0) {
        pthread_mutex_lock(&lock);
        glance(0);
        pthread_mutex_unlock(&lock);
        found[0] = alone(0);
    } else {
        if (pthread_mutex_trylock(&lock) == 0)
            pthread_mutex_unlock(&lock);
        glance(1);
        found[1] = alone(1);
    }
    return NULL;
}

int main(void)
{
    threads(2, run);
    assert(!(found[0] && found[1]));
    return 0;
}
