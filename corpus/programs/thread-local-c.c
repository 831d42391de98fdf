// expect: tso=safe pso=safe
#include <assert.h>
#include <pthread.h>
static __thread int a = 5;
_Thread_local int b;
static _Thread_local char big[1000] = "start";
static void *run(void *p)
{
    assert(a == 5 && b == 0 && big[0] == 's' && big[999] == 0);
    a += (int)(long)p;
    b = a;
    big[999] = 'x';
    assert(a == 5 + (int)(long)p && b == a);
    return p;
}
int main(void)
{
    pthread_t t[2];
    a = 1;
    b = 2;
    big[0] = 0;
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(a == 1 && b == 2 && big[0] == 0 && big[999] == 0);
    return 0;
}
