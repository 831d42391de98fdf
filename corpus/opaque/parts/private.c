#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* Works on memory of its own and of its caller's thread only. */
int sum(const int *from, int n)
{
    int *copy = malloc(n * sizeof *copy), all = 0;
    memcpy(copy, from, n * sizeof *copy);
    for (int i = 0; i < n; i++)
        all += copy[i];
    free(copy);
    if (all < 0)
        fprintf(stderr, "negative\n");
    return all;
}
