// expect: error: assertion
// New memory holds neither zeros nor what an earlier execution left.
#include <assert.h>
#include <stdlib.h>
int main(void)
{
    int *volatile p = malloc(sizeof *p);
    assert(*p == 0);
    free(p);
    return 0;
}
