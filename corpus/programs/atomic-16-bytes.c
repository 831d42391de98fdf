// expect: tso=safe pso=safe
// flags: -mcx16
#include <assert.h>
#include <pthread.h>
static unsigned __int128 x __attribute__((aligned(16)));
static void *run(void *p)
{
    for (;;) {
        unsigned __int128 old = __atomic_load_n(&x, __ATOMIC_SEQ_CST);
        assert((unsigned long)old == (unsigned long)(old >> 64));
        unsigned __int128 new = old + 1 + ((unsigned __int128)1 << 64);
        if (__atomic_compare_exchange_n(&x, &old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return p;
    }
}
int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert((unsigned long)x == 2 && x >> 64 == 2);
    return 0;
}
