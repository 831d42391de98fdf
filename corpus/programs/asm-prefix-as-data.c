// expect: undecided: is code written as data
// A `lock` prefix that is written as data stays with its instruction.
#include <pthread.h>
static int count;
static void *run(void *p)
{
    __asm__ volatile(".byte 0xf0; incl %0" : "+m"(count) : : "cc", "memory");
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    run(0);
    pthread_join(t, 0);
    return 0;
}
