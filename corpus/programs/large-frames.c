// expect: tso=safe pso=safe
#include <alloca.h>
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
static atomic_int x;
static int use(int n)
{
    char big[100000];
    memset(big, n, sizeof big);
    char *more = alloca(50000 + n);
    memset(more, n + 1, 50000);
    int vla[n + 10];
    vla[n] = atomic_fetch_add(&x, 1);
    return big[99999] + more[49999] + vla[n];
}
static void *run(void *p)
{
    int r = use(3);
    assert(r == 7 || r == 8);
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
