// expect: error
// A round is a jump out of setjmp.
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x;

static void *waits(void *p)
{
    jmp_buf again;
    volatile int jumped = 0;

    if (setjmp(again))
        jumped = 1;
    if (!atomic_load(&x))
        longjmp(again, 1);
    assert(!jumped);
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
