// expect: tso=safe pso=safe
// flags: -mavx2
// Vector registers are live across inline assembly that membar looks into.
#include <assert.h>
#include <immintrin.h>
#include <pthread.h>
static int n;
static void *run(void *p)
{
    __m256i v = _mm256_set_epi64x(4, 3, 2, 1), w = v;
    __asm__ volatile("lock incl %0" : "+m"(n), "+x"(w) : : "memory", "cc");
    __asm__ volatile("vpaddq %1, %0, %0\n\tlock incl %2" : "+x"(v) : "x"(w), "m"(n) : "memory", "cc");
    long out[4];
    _mm256_storeu_si256((__m256i *)out, v);
    assert(out[0] == 2 && out[1] == 4 && out[2] == 6 && out[3] == 8);
    return p;
}

int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
