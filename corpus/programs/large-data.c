// expect: tso=safe pso=safe
// A megabyte that is reset for each execution, of which little is written.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static char zero[1 << 20];
static char full[1 << 20] = { 1, 2, 3 };
static atomic_int x;
static void *run(void *p)
{
    long at = ((long)p + 1) * 300000;
    assert(zero[at] == 0 && full[0] == 1 && full[2] == 3);
    zero[at] = 1;
    full[at]++;
    x++;
    return p;
}

int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
