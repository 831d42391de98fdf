// fails: reaches an error (`reach_error`)
// As programs of verification competitions say it.
#include "alone.h"

static atomic_int inside;

extern void reach_error(void);

static void *run(void *p)
{
    if (alone((int)(intptr_t)p) && add(&inside, 1, rlx))
        reach_error();
    return NULL;
}

int main(void)
{
    threads(2, run);
    return 0;
}
