// expect: error: twice
#include <stdlib.h>
int main(void)
{
    char *volatile p = malloc(10);
    free(p);
    free(p);
    return 0;
}
