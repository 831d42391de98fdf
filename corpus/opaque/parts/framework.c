/* A main that comes from an archive. */
#include <stdio.h>
int test(void);
int main(void)
{
    int failed = test();
    fprintf(stdout, "%s\n", failed ? "failed" : "passed");
    return failed;
}
