// expect: undecided: calls `setvbuf` with its own buffer
#include <pthread.h>
#include <stdio.h>
static char buffer[64];
static int flag, seen, found;
static void *other(void *p)
{
    putchar('a');
    seen = flag;
    return p;
}
int main(void)
{
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    flag = 1;
    found = buffer[0];
    pthread_join(t, 0);
}
