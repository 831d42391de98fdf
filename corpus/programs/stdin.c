// expect: tso=safe pso=safe
// There is nothing to read.
#include <assert.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    char line[80];
    int n;
    assert(fgets(line, sizeof line, stdin) == NULL);
    assert(scanf("%d", &n) == EOF);
    assert(getchar() == EOF);
    assert(read(0, line, sizeof line) == 0);
    return 0;
}
