// expect: undecided: calls `fork`
#include <unistd.h>
int main(void)
{
    if (fork() == 0)
        _exit(0);
    return 0;
}
