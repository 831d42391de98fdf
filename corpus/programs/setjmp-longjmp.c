// expect: tso=safe pso=safe
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
static atomic_int shared;
static void deep(jmp_buf to, int n)
{
    if (n == 0)
        longjmp(to, atomic_fetch_add(&shared, 1) + 1);
    deep(to, n - 1);
}
static void *run(void *p)
{
    jmp_buf env;
    volatile int rounds = 0;
    int r = setjmp(env);
    assert(r >= 0 && r <= 4);
    if (rounds++ < 2)
        deep(env, 5);
    assert(rounds == 3);
    return p;
}
int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(shared == 4);
    return 0;
}
