// expect: error
// A reader that checks the wrong counter accepts a torn pair.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int seq, u, v, w;

static void *a(void *p)
{
    int s, i, j;

    do {
        s = atomic_load(&seq);
        i = atomic_load(&u);
        j = atomic_load(&v);
    } while (s != atomic_load(&w));
    assert(i == j);
    return p;
}

static void *b(void *p)
{
    atomic_store(&u, 1);
    atomic_store(&v, 1);
    atomic_store(&seq, 2);
    atomic_store(&w, 2);
    return p;
}

int main(void)
{
    pthread_t t[2];

    pthread_create(&t[0], NULL, a, NULL);
    pthread_create(&t[1], NULL, b, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    return 0;
}
