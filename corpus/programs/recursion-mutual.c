// expect: tso=safe pso=safe
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int calls;
static int odd(int n);
static int even(int n) { return n == 0 ? 1 : odd(n - 1); }
static int odd(int n)
{
    if (n == 1)
        atomic_fetch_add(&calls, 1);
    return n == 0 ? 0 : even(n - 1);
}
static void *run(void *p) { return (void *)(long)even((int)(long)p); }
int main(void)
{
    pthread_t t[2];
    void *r[2];
    pthread_create(&t[0], 0, run, (void *)500L);
    pthread_create(&t[1], 0, run, (void *)501L);
    pthread_join(t[0], &r[0]);
    pthread_join(t[1], &r[1]);
    assert(r[0] == (void *)1 && r[1] == 0 && calls >= 1);
    return 0;
}
