// expect: tso=safe pso=safe
// Atomic objects that the machine cannot access at once: the compiler calls functions of libatomic.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
struct three { long a, b, c; };
static _Atomic struct three shared, flag;
static void *run(void *p)
{
    struct three old = atomic_load(&shared), new;
    do {
        new = (struct three){old.a + 1, old.b + 2, old.c + 3};
    } while (!atomic_compare_exchange_weak(&shared, &old, new));
    if (p)
        atomic_store(&flag, new);
    return p;
}
int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    struct three none = {0}, last = atomic_exchange(&shared, none), signal = atomic_load(&flag);
    assert(last.a == 2 && last.b == 4 && last.c == 6 && signal.a >= 1);
    return 0;
}
