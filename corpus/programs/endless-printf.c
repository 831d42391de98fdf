// expect: undecided: endless loop
#include <stdio.h>
int main(void)
{
    for (;;)
        printf("and again\n");
}
