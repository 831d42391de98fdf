// expect: undecided: endless loop
// It writes, but nobody else's memory.
#include <pthread.h>
static void *run(void *p)
{
    static unsigned n;
    for (;;)
        n++;
}
int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    pthread_join(t, 0);
    return 0;
}
