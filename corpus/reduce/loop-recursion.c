// expect: error
// A round is a call, and their number is what is returned.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x;

static __attribute__((noinline)) int look(int n)
{
    return atomic_load(&x) || n > 3 ? n : look(n + 1);
}

static void *waits(void *p)
{
    assert(look(0) != 1);
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
