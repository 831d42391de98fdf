// expect: error
// A round takes the next of a list of arguments.
#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x;

static __attribute__((noinline)) int next(int n, ...)
{
    va_list list;
    int last;

    va_start(list, n);
    while (!atomic_load(&x) && n-- > 0)
        va_arg(list, int);
    last = va_arg(list, int);
    va_end(list);
    return last;
}

static void *waits(void *p)
{
    assert(next(3, 1, 2, 3, 4) == 1);
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
