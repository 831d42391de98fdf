/* A test-and-set lock and N threads. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 4
#endif

static int inside;
static atomic_int held;

static void lock(void)
{
    while (atomic_exchange(&held, 1))
        while (atomic_load(&held))
            ;
}

static void unlock(void)
{
    atomic_store(&held, 0);
}

static void *run(void *p)
{
    lock();
    inside++;
    assert(inside == 1);
    inside--;
    unlock();
    return p;
}

int main(void)
{
    pthread_t threads[N];

    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
