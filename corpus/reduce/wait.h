// One thread waits until another one writes. What a round of `waits` does is the test.
#include "threads.h"

static atomic_int x;
static function waits;

static void *writes(void *p)
{
    atomic_store(&x, 1);
    return p;
}

int main(void)
{
    run(2, (function *[]){ waits, writes });
    return 0;
}
