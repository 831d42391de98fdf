// expect: error: 1 bytes behind
// Behind a block whose size is no multiple of anything.
#include <stdlib.h>
int main(void) {
    volatile char *p = malloc(100);
    p[99] = 1;
    p[101] = 1;
    free((void *)p);
    return 0;
}
