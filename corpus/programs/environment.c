// expect: tso=safe pso=safe
// driver: --arg one --arg two
#include <assert.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv, char **envp)
{
    assert(argc == 3 && strcmp(argv[1], "one") == 0 && strcmp(argv[2], "two") == 0 && argv[3] == NULL);
    assert(getenv("PATH") != NULL && envp != NULL && envp[0] != NULL);
    argv[1][0] = 'O';
    setenv("MEMBAR_TEST", "1", 1);
    assert(getenv("MEMBAR_TEST") != NULL);
    return 0;
}
