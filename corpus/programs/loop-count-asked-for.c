// expect: error: assertion
// What the rare way leaves behind is looked at.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
static atomic_int x;
static void *t(void *a)
{
    int n = 0, rare = 0;
    while (!x)
        if (++n > 3) {
            n = 0;
            rare = 1;
        }
    assert(!rare);
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
