// expect: error
// A round changes how numbers are rounded.
#include <assert.h>
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x;

static void *waits(void *p)
{
    while (!atomic_load(&x))
        fesetround(FE_UPWARD);
    assert(fegetround() == FE_TONEAREST);
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
