// expect: tso=safe pso=safe
// Peterson with fences.
#include <assert.h>
#include <pthread.h>
static volatile int want[2], turn, inside;
static void *run(void *p)
{
    long me = (long)p;
    want[me] = 1;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    turn = 1 - (int)me;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    while (want[1 - me] && turn != me)
        ;
    inside++;
    assert(inside == 1);
    inside--;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    want[me] = 0;
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
