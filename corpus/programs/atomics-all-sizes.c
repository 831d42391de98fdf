// expect: tso=safe pso=safe
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
static _Atomic uint8_t a;
static _Atomic uint16_t b;
static _Atomic uint32_t c;
static _Atomic uint64_t d;
static void *run(void *p)
{
    a += 200;
    b -= 1;
    c ^= 1;
    d |= (uint64_t)1 << ((long)p + 40);
    return p;
}
int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(a == 144 && b == 0xfffe && c == 0 && d == (uint64_t)3 << 40);
    return 0;
}
