// expect: error: null pointer
#include <stddef.h>
struct s { int a, b; };
int main(void)
{
    struct s *volatile p = NULL;
    return p->b;
}
