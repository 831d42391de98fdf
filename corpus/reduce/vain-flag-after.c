// expect: error
// The exchange fails, and the loop ends because of another flag that is read after it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x, y;

static void *a(void *p)
{
    int old, done = 0;

    do {
        old = atomic_load(&x);
        if (atomic_compare_exchange_strong(&x, &old, 5))
            return p;
        done = atomic_load(&y);
    } while (!done);
    assert(old != 1);
    return p;
}

static void *b(void *p)
{
    atomic_store(&x, 1);
    atomic_store(&y, 1);
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
