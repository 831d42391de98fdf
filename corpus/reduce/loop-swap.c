// expect: error
// A round exchanges two variables: two of them change nothing.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x;

static void *waits(void *p)
{
    int a = 1, b = 2;

    while (!atomic_load(&x)) {
        int c = a;

        a = b;
        b = c;
    }
    assert(a == 1);
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
