// expect: tso=safe pso=safe
#include <assert.h>
#include <stdlib.h>
int main(void)
{
    srand(1);
    int a = rand();
    srand(1);
    assert(rand() == a && a >= 0 && a <= RAND_MAX);
    unsigned seed = 1;
    int b = rand_r(&seed);
    assert(b >= 0);
    return 0;
}
