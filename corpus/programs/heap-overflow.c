// expect: error: outside of any block
#include <stdlib.h>
int main(void)
{
    volatile int *volatile p = malloc(16 * sizeof *p);
    for (int i = 0; i <= 16; i++)
        p[i] = i;
    free((void *)p);
    return 0;
}
