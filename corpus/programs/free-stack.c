// expect: error: frees something that is not the beginning of a block
#include <stdlib.h>
int main(void)
{
    int x[8];
    int *volatile p = x;
    free(p);
    return 0;
}
