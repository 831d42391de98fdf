// expect: undecided: 
#include <stdlib.h>
int main(void)
{
    void *volatile p = malloc((size_t)1 << 40);
    free(p);
    return 0;
}
