// expect: undecided: is not instrumented, and touches `place[0]`
#include <pthread.h>
#include <setjmp.h>
static jmp_buf place;
static int flag, seen, found;
static void *other(void *p)
{
    if (setjmp(place) == 0)
        seen = flag;
    return p;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, other, 0);
    flag = 1;
    found = *(char *)place;
    pthread_join(t, 0);
}
