/* A sequence lock: one writer, N readers that try again. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 2
#endif

static atomic_int version, a, b;

static void *writes(void *p)
{
    for (int i = 1; i <= 2; i++) {
        atomic_fetch_add(&version, 1);
        atomic_store(&a, i);
        atomic_store(&b, i);
        atomic_fetch_add(&version, 1);
    }
    return p;
}

static void *reads(void *p)
{
    int before, x, y;

    do {
        before = atomic_load(&version);
        x = atomic_load(&a);
        y = atomic_load(&b);
    } while (before % 2 || before != atomic_load(&version));
    assert(x == y);
    return p;
}

int main(void)
{
    pthread_t writer, readers[N];

    pthread_create(&writer, NULL, writes, NULL);
    for (int i = 0; i < N; i++)
        pthread_create(&readers[i], NULL, reads, NULL);
    pthread_join(writer, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(readers[i], NULL);
    return 0;
}
