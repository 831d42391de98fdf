// expect: error: frees something that is not the beginning of a block
#include <stdlib.h>
int main(void)
{
    char *volatile p = malloc(100);
    free(p + 16);
    return 0;
}
