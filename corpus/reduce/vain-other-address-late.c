// expect: error
// The round is in vain until a third thread writes the address that decides.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x, y;

static void *a(void *p)
{
    int first, second;

    do {
        first = atomic_load(&x);
        second = atomic_load(&x);
    } while (first != second && atomic_load(&y) != 2);
    assert(first == second || first == 1);
    return p;
}

static void *b(void *p)
{
    atomic_store(&x, 1);
    atomic_store(&x, 2);
    return p;
}

static void *c(void *p)
{
    atomic_store(&y, 1);
    atomic_store(&y, 2);
    return p;
}

int main(void)
{
    pthread_t t[3];

    pthread_create(&t[0], NULL, a, NULL);
    pthread_create(&t[1], NULL, b, NULL);
    pthread_create(&t[2], NULL, c, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    pthread_join(t[2], NULL);
    return 0;
}
