// expect: error: assertion
// only: gcc
// flags: -O2 -mavx
// A round changes how the processor rounds, by an instruction of AVX.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <xmmintrin.h>

static atomic_int x;

static void *waits(void *arg)
{
    while (!atomic_load(&x))
        _mm_setcsr(_mm_getcsr() ^ 0x2000);
    assert(!(_mm_getcsr() & 0x2000));
    return arg;
}

int main(void)
{
    pthread_t thread;

    pthread_create(&thread, 0, waits, 0);
    atomic_store(&x, 1);
    pthread_join(thread, 0);
}
