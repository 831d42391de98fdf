// expect: error
// After tries in vain the thread waits for what never comes.
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
    } while (first != second || first != 3);
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
