// expect: error: ends the whole process
// The process that runs it ends in the middle of a step of a thread other than the one that ran last.
#include <pthread.h>
static int x, y;
static void *run(void *p)
{
    x = 1;
    if (y)
        __asm__ volatile("syscall" : : "a"(231), "D"(3) : "rcx", "r11", "memory");
    y = 2;
    return 0;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    x = 2;
    y = 1;
    x = 3;
    pthread_join(t, 0);
    return 0;
}
