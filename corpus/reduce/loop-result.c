// expect: error
// What a round did is what the thread returns.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x;

static void *waits(void *p)
{
    long rounds = 0;

    while (!atomic_load(&x))
        rounds = 1;
    (void)p;
    return (void *)rounds;
}

static void *writes(void *p)
{
    atomic_store(&x, 1);
    return p;
}

int main(void)
{
    pthread_t a, b;
    void *result;

    pthread_create(&a, NULL, waits, NULL);
    pthread_create(&b, NULL, writes, NULL);
    pthread_join(a, &result);
    pthread_join(b, NULL);
    assert(result == NULL);
    return 0;
}
