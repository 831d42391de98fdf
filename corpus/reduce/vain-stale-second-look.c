// expect: unsafe
// options: --model pso --property robust
// The second look reads the old value although something newer was seen in between.
#include "threads.h"

static volatile int x, z;

static void *a(void *p)
{
    int first, flag, second;

    do {
        first = x;
        flag = z;
        second = x;
    } while (first != second);
    if (flag == 1 && second == 0)
        z = 2;
    return p;
}

static void *b(void *p)
{
    x = 1;
    z = 1;
    return p;
}

int main(void)
{
    run(2, (function *[]){ a, b });
    return 0;
}
