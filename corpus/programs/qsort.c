// expect: tso=safe pso=safe
// A callback from a library that is not instrumented, with steps in it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_int calls;
static int compare(const void *a, const void *b)
{
    atomic_fetch_add(&calls, 1);
    return *(const int *)a - *(const int *)b;
}
static void *run(void *p)
{
    int v[3] = { 3, 1, 2 };
    qsort(v, 3, sizeof *v, compare);
    assert(v[0] == 1 && v[1] == 2 && v[2] == 3);
    int key = 2;
    assert(bsearch(&key, v, 3, sizeof *v, compare) == &v[1]);
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
