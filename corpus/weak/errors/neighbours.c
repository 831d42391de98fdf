// fails: assertion `!(results[0][0] == 1
// Both find themselves alone; a third thread notes what it has seen in two variables side by side, which gcc -O2 would write at once.
#include "alone.h"
#include <sched.h>

static atomic_int ready;
static int results[3][8];

static void *run(void *p)
{
    int me = (int)(intptr_t)p;
    int found = alone(me);

    store(&ready, 1, rlx);
    results[1 + me][0] = found;
    return NULL;
}

static void *look(void *p)
{
    int me = (int)(intptr_t)p;
    int first, second;

    while ((first = load(&ready, rlx)) != 1)
        ;
    while ((second = load(&ready, rlx)) != 1)
        sched_yield();
    results[me][0] = first;
    results[me][1] = second;
    return NULL;
}

int main(void)
{
    pthread_t third;

    pthread_create(&third, NULL, look, NULL);
    threads(2, run);
    pthread_join(third, NULL);
    assert(!(results[0][0] == 1 && results[0][1] == 1 && results[1][0] == 1 && results[2][0] == 1));
    return 0;
}
