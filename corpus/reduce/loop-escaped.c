// expect: error
// A round writes a variable on the stack through a pointer that has escaped.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x;
static int *volatile where;

static void *waits(void *p)
{
    int seen = 0;

    where = &seen;
    while (!atomic_load(&x))
        *where = 1;
    assert(!seen);
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
