// expect: error: outside of any block
#include <stdlib.h>
#include <string.h>
int main(void)
{
    char *volatile p = malloc(32);
    memset(p, 0, 40);
    free(p);
    return 0;
}
