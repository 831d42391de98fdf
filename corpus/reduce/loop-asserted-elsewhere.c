// expect: error
// What a round did is asserted in another function.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x;
static int count;

__attribute__((noinline)) static void check(void)
{
    assert(count == 0);
}

static void *waits(void *p)
{
    while (!atomic_load(&x))
        count = 1;
    check();
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
