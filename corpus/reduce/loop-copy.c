// expect: error
// A round copies a structure.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x;
struct six { long a[6]; };

static void *waits(void *p)
{
    struct six one = {{0}}, two = {{0, 0, 0, 0, 0, 1}};

    while (!atomic_load(&x))
        one = two;
    assert(one.a[5] == 0);
    return p;
}

static void *writes(void *p)
{
    atomic_store(&x, 1);
    return p;
}

int main(void)
{
    pthread_t a, b;

    pthread_create(&a, NULL, waits, NULL);
    pthread_create(&b, NULL, writes, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
