// expect: error
// options: --model c11
// The look in vain is a plain one, and races with a write that comes later.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x;
static int plain;

static void *a(void *p)
{
    int first, second, seen;

    do {
        first = atomic_load(&x);
        second = atomic_load(&x);
        seen = plain;
    } while (first != second);
    return seen ? p : NULL;
    return p;
}

static void *b(void *p)
{
    atomic_store(&x, 1);
    plain = 1;
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
