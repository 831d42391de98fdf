// expect: error: assertion
// Two bitfields of one word: each update writes both.
#include <assert.h>
#include <pthread.h>
static volatile struct { unsigned a : 4, b : 4; } s;
static void *run(void *p)
{
    if (p)
        s.a = 5;
    else
        s.b = 6;
    return p;
}
int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(s.a == 5 && s.b == 6);
    return 0;
}
