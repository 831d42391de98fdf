// expect: tso=safe pso=safe
// Whatever the variables hold, they hold it in every execution.
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y;
static __attribute__((noinline)) void dirty(int n)
{
    volatile int a[300];
    for (int i = 0; i < 300; i++)
        a[i] = n + i;
}
static __attribute__((noinline)) int use(void)
{
    volatile int a[300];
    return a[7] & 1;
}
static void *run(void *p)
{
    if (use())
        x++;
    else
        y++;
    x++;
    dirty(atomic_load(&x));
    y++;
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
