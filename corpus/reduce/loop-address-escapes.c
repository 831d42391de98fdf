// expect: error
// The round changes a local through a pointer that was passed on.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x, y;

static int look(int *n)
{
    if (atomic_load(&x))
        return 1;
    if (*n < 2)
        *n += atomic_load(&y);
    return 0;
}

static void *a(void *p)
{
    int n = 0;

    while (!look(&n))
        ;
    assert(n < 2);
    return p;
}

static void *b(void *p)
{
    atomic_store(&y, 1);
    atomic_store(&x, 1);
    return p;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, a, NULL);
    pthread_create(&t[1], NULL, b, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
