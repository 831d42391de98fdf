// expect: error: frees something that is not the beginning of a block
#include <stdlib.h>
static int x[8];
int main(void)
{
    int *volatile p = x;
    free(p);
    return 0;
}
