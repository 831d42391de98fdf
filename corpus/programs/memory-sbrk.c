// expect: undecided: calls `sbrk`, which membar does not run
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <unistd.h>
static long *memory, flag, seen, found;
static void *other(void *p)
{
    memory[0] = 1;
    seen = flag;
    return p;
}
int main(void)
{
    memory = sbrk(4096);
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    flag = 1;
    found = memory[0];
    pthread_join(t, 0);
}
