// expect: error
// counts: fewer
// Threads that are alike try in vain; the last one finds two.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int x, y;

static void *a(void *p)
{
    int old;

    do {
        old = atomic_load(&x);
    } while (!atomic_compare_exchange_strong(&x, &old, old + 1));
    assert(old != 2);
    return p;
}

int main(void)
{
    pthread_t t[3];

    pthread_create(&t[0], NULL, a, NULL);
    pthread_create(&t[1], NULL, a, NULL);
    pthread_create(&t[2], NULL, a, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    pthread_join(t[2], NULL);
    return 0;
}
