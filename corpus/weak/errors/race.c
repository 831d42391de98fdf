// fails: data race on `data`
// Both write a variable that only one of them may.
// models: c11
#include "alone.h"

static int data;

static void *run(void *p)
{
    if (alone((int)(intptr_t)p))
        data = 1 + (int)(intptr_t)p;
    return NULL;
}

int main(void)
{
    threads(2, run);
    return data > 2;
}
