// expect: error: assertion
// The count of rounds decides whether the loop is left.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
static atomic_int x;
static void *t(void *a)
{
    int n = 0;
    while (!x)
        if (++n > 5)
            break;
        else
            sched_yield();
    assert(x);
    return a;
}
int main(void)
{
    pthread_t p;
    pthread_create(&p, 0, t, 0);
    x = 1;
    pthread_join(p, 0);
    return 0;
}
