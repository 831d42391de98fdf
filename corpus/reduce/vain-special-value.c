// expect: error
// A failed compare-exchange leaves the loop if it finds a certain value.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x, y;

static void *a(void *p)
{
    int old;

    do {
        old = atomic_load(&x);
        if (atomic_compare_exchange_strong(&x, &old, 7))
            return p;
    } while (old != 2);
    assert(0);
    return p;
}

static void *b(void *p)
{
    atomic_store(&x, 1);
    atomic_store(&x, 2);
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
