// expect: tso=safe pso=safe
// A program that looks what it got.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
int main(void)
{
    volatile size_t all = SIZE_MAX;
    assert(malloc(all) == NULL);
    assert(calloc(all, 8) == NULL);
    return 0;
}
