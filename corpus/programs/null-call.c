// expect: error: null pointer
#include <stddef.h>
int main(void)
{
    int (*volatile f)(void) = NULL;
    return f();
}
