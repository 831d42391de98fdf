// expect: tso=safe pso=safe
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
typedef int (*op)(int);
static int twice(int n) { return 2 * n; }
static int square(int n) { return n * n; }
static _Atomic op current = twice;
static void *run(void *p)
{
    if (p)
        atomic_store(&current, square);
    else
        assert(atomic_load(&current)(3) == 6 || current(3) == 9);
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
