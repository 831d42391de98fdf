// expect: tso=safe pso=safe
// A program that looks what it got.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
int main(void)
{
    volatile size_t all = SIZE_MAX;
    void *volatile p = malloc(all);
    assert(p == NULL);
    p = calloc(all, 8);
    assert(p == NULL);
    return 0;
}
